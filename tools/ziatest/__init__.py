"""ziatest - reads the files and outputs of Ziatest, for tools/summarize, compare and check

    import sys; sys.path.insert(0, '/path/to/tools')
    from ziatest.read import read
    read('log.csv').launches[-1].time_ms

read() returns a Log, the Ranks of a launch, the Job of an archive or a directory, or the Roll of an
output of -t or --where. Times are in ms; an unknown time is NaN.
"""

class Unreadable(Exception):
    """Why a file, or a list of nodes, cannot be read"""
