"""agree - which facts about a launch stand in several files of an archive, and must agree

An archive may be merely wrong: a file was copied to the name of another, was cut, or was edited.
This module says which facts about one launch must agree; nodes.py checks a file of ranks alone, and
judge.py the files of the whole job. What is not known is not compared.
"""
import collections
import math

# A fact as it stands in one place: its text there, and the least and the greatest value that such a
# text may stand for
Stated = collections.namedtuple('Stated', 'text least greatest')
EXACT = 0.0001  # ms; in a CSV file, a time has three decimals

def same(value):
    """A fact that agrees only with itself; None if it is not known"""
    return None if value in (None, '') else Stated(str(value), str(value), str(value))

def exact(time):
    """A time of a CSV file, or a sum of such times, in ms"""
    return None if math.isnan(time) else Stated(f'{time:.3f} ms', time - EXACT, time + EXACT)

def printed(text, terms=1):
    """A time such as '1184.330 ms' or '1118.433 s', or the sum of TERMS of them, which is known
    only to the printed digits"""
    if text is None:
        return None
    digits, unit = text.split()
    ms = 1000 if unit == 's' else 1
    half = terms * ms * 0.5 * 0.1 ** len(digits.partition('.')[2])
    return Stated(text, float(digits) * ms - half - EXACT, float(digits) * ms + half + EXACT)

def minutes(text):
    """A time such as 12:34 min:sec, of which the fraction of a second was cut off, in ms"""
    if text is None:
        return None
    whole, seconds = map(int, text.split(':'))
    start = 1000 * (60 * whole + seconds)
    return Stated(f'{text} min:sec', start - EXACT, start + 1000 - EXACT)

def total(rows, name):
    """The sum of the rows of a table that have a NAME, each of which begins with a time. In the
    critical path, a time is the difference of two that are rounded."""
    times = [values[0] for row, values in rows if row == name]
    if not times:
        return None
    unit = times[0].split()[1]
    digits = max(len(time.split()[0].partition('.')[2]) for time in times)
    whole_sum = sum(float(time.split()[0]) for time in times)
    return printed(f'{whole_sum:.{digits}f} {unit}', 2 * len(times))

def facts(job, launch):
    """Yields each fact about a launch that has a row and ranks: what it is, and what is Stated
    about it, by place."""
    row, ranks, stated = launch.row, launch.ranks, launch.stated
    key = f'{launch.nodes}-{launch.run}'

    files = dict(output=f'output/{key}.txt', row='results.csv', ranks=f'ranks-{key}.csv',
                 nodes=f'nodes-{key}.txt', job='environment.txt', build='build.txt',
                 phases='the sum of its phases')

    def everywhere(**places):
        return {files[place]: fact for place, fact in places.items()}

    yield 'nodes', {'its name': same(launch.nodes), **everywhere(
        row=same(row.nodes), output=same(stated.get('nodes')), ranks=same(len(ranks.hosts)),
        nodes=same(len(launch.node_names.split())))}
    yield 'ranks per node', everywhere(
        job=same(job.ppn), row=same(row.ppn), output=same(stated.get('ppn')))
    yield 'ranks per node in the command', everywhere(job=same(job.ppn), output=same(stated['n']))
    yield 'ranks', everywhere(
        row=same(row.ranks), output=same(stated.get('ranks')), ranks=same(ranks.count))
    yield 'time', everywhere(
        row=exact(row.time_ms), output=printed(stated.get('time')), ranks=exact(ranks.completed))
    yield 'time', everywhere(
        row=exact(row.time_ms), phases=exact(launch.phases))
    below = stated.get('below_1_s')
    yield 'result', everywhere(
        row=exact(row.time_ms),
        output=printed(f'{below} ms') if below else minutes(stated.get('min_sec')))
    yield 'corrected time', everywhere(
        row=exact(row.corrected_ms), output=printed(stated.get('corrected')),
        ranks=exact(ranks.corrected if row.corrected_ms >= 0 else math.nan))
    yield 'slowest rank', everywhere(
        row=same(row.slowest_rank), output=same(stated.get('slowest')),
        ranks=same(ranks.last and ranks.last.rank))
    yield 'host of the slowest rank', everywhere(
        row=same(row.slowest_host), ranks=same(ranks.last and ranks.last.host))
    no_outlier = stated.get('no_outlier')
    yield 'outlier', everywhere(row=same(row.outlier or no_outlier),
                                output=same(stated.get('outlier') or no_outlier))
    yield 'host of the outlier', everywhere(
        row=same(row.outlier_host), output=same(stated.get('outlier_host')),
        ranks=same(ranks.host_of(row.outlier_rank)))
    yield 'rank of the outlier', everywhere(
        row=same(row.outlier_rank), output=same(stated.get('outlier_rank')))
    yield 'clock offset', everywhere(
        row=exact(row.offset_ms), output=printed(stated.get('offset')))
    yield 'bytes of the executable', everywhere(
        row=same(whole(row.executable_bytes)), output=same(stated.get('bytes')),
        build=same(job.built_bytes))
    yield 'MPI library', everywhere(
        row=same(row.mpi.strip()), output=same(stated.get('mpi')))
    yield 'longest MPI_Init', everywhere(
        row=exact(row.mpi_init_max_ms), ranks=exact(ranks.maximum('mpi_init_ms')))
    for name in dict.fromkeys(name for name, _ in launch.tables['path']):
        yield f'{name} of the critical path', everywhere(
            row=exact(getattr(row, f'{name}_ms', math.nan)),
            output=total(launch.tables['path'], name))
    for name, values in launch.tables['ranks']:
        column = name if name == 'faults' else f'{name}_ms'
        for which, value, of_file in zip(('least', 'median', 'greatest'), values,
                                         ranks.summary.get(column, ())):
            yield f'{which} {name}', everywhere(output=printed(value), ranks=exact(of_file))

def whole(number):
    return None if math.isnan(number) else f'{number:.0f}'

def names(job, launch):
    """Yields the facts that any launch with an output has."""
    output = f'output/{launch.nodes}-{launch.run}.txt'
    yield 'launch', {'its name': same(f'{launch.nodes}-{launch.run}'),
                     output: same(launch.stated.get('launch'))}
    yield 'job', {'environment.txt': same(job.result), output: same(launch.stated.get('job'))}

def disagreement(launch, facts):
    """Says which of the facts disagrees first, or returns ''."""
    for what, places in facts:
        stated = [(fact, place) for place, fact in places.items() if fact]
        if stated and max(fact.least for fact, _ in stated) > min(
                fact.greatest for fact, _ in stated):
            return f'its files disagree about the {what}: ' + ', '.join(
                f'{fact.text} in {place}' for fact, place in stated)
    return ''

def find_contradiction(job, launch):
    """Returns how the files of a launch contradict each other, or '' if they do not. If a launch
    has failed, any of its files may be missing or cut."""
    wrong = disagreement(launch, names(job, launch))
    if wrong or launch.status != 0 or launch.kept['failure']:
        is_cut = launch.status is None and not launch.kept['reason']
        return 'its output is missing or cut' if is_cut and job.has_ended and not wrong else wrong
    key = f'{launch.nodes}-{launch.run}'
    if not {'n', 'time'} <= launch.stated.keys() or not launch.kept['result']:
        return f'output/{key}.txt lacks the command line, the result or the report'
    if not launch.row:
        return f'its row of results.csv is missing or damaged; its start is {launch.started}'
    if not launch.ranks:
        return f'ranks-{key}.csv is missing'
    if launch.ranks.wrong:
        return f'ranks-{key}.csv: {launch.ranks.wrong}'
    if launch.ranks.unequal is not None:
        return f'ranks-{key}.csv: the times of rank {launch.ranks.unequal} do not add up'
    return disagreement(launch, facts(job, launch))
