#!/usr/bin/env python3
"""tools/summarize, on files that are damaged at random. SEED=... repeats a run, and COUNT=... makes
it longer."""
import functools
import os
import re
import shutil
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), 'helpers'))
import tap  # noqa: E402
import archive  # noqa: E402
import said  # noqa: E402
from tap import dice, each  # noqa: E402

summarize = tap.load('summarize')
COUNT = int(os.environ.get('COUNT', 60))
PIECES = ['nan', 'inf', '-inf', '1e308', '-1', '9' * 30, '0', '-0.0', '1_0', '\xff', '\0', '<b>&',
          '\x1b[31m', ',', '"', '\n', '\r\n', '#', ' ', '9' * 20000, 'n[1-9]', 'status 0\n',
          'Time test was completed in   601.00 millisecs\n']


@functools.lru_cache()
def job():
    return archive.make(late='3:init:400')


def damage(text):
    """Returns TEXT with one to five mistakes: bytes or lines that are lost, duplicated, changed or
    added."""
    for _ in range(dice().choice((1, 1, 2, 5))):
        start = dice().randrange(len(text) + 1)
        end = start + dice().choice((1, 5, 50, 500))
        lines = text.splitlines(True) or ['']
        line = dice().randrange(len(lines))
        text = dice().choice((
            lambda: text[:start],
            lambda: text[:start] + text[end:],
            lambda: text[:end] + text[start:],
            lambda: text[:start] + dice().choice(PIECES) + text[start:],
            lambda: text[:start] + chr(dice().randrange(256)) + text[start + 1:],
            lambda: ''.join(lines[:line] + lines[line + 1:]),
            lambda: ''.join(lines[line:] + lines[:line]),
            lambda: re.sub('(?<=,)[^,\n]*(?=,)', lambda _: dice().choice(PIECES), text, 1),
        ))()
    return text


class Damaged(tap.Case):
    def summarize(self, files, path):
        """Writes FILES, and summarizes PATH. Checks that this ends as documented: with a summary,
        or with an error of one line. Returns the status and the summary."""
        shutil.rmtree('it', ignore_errors=True)
        files.write('it')
        status, err, out = self.capture(
            lambda: summarize.main(['--pictures', 'pictures', path], sys.stdout.buffer))
        self.assertIn(status, (0, 1, 2))
        self.assertNotIn('bug', err)
        self.assertNotRegex(out, '[\0-\x09\x0b-\x1f\x7f]')
        if status == 2:
            self.assertEqual(out, '')
            self.assertRegex(err, r'\Asummarize: error: [^\n]+\n\Z')
        for name in os.listdir('pictures') if os.path.isdir('pictures') else ():
            xml.etree.ElementTree.parse(os.path.join('pictures', name))
        return status, out

    def test_a_job_that_was_changed_afterwards_is_never_right(self):
        flawless = job()
        for _ in range(COUNT):
            files = archive.Files(flawless)
            name = dice().choice(sorted(files))
            files[name] = damage(files[name])
            status, _ = self.summarize(files, 'it')
            if files != flawless and status == 0:
                self.assertEqual(name, 'SHA256SUMS')  # A bidder may add lines to it.

    def test_a_job_that_has_written_damaged_files(self):
        for _ in range(COUNT):
            files = archive.Files(job())
            for _ in range(dice().choice((1, 1, 3))):
                name = dice().choice(sorted(files))
                files[name] = damage(files[name])
            files.sums()
            _, out = self.summarize(files, 'it')
            if 'No problems; no points' in out:
                self.assertRegex(out, r'\n8 nodes x 2 = 16 ranks: [0-9.]+ ms, the first launch')

    @each(('a log', 'results.csv'), ('ranks', 'ranks-8-1.csv'), ('an output', 'output/8-2.txt'))
    def reads(self, name):
        for _ in range(COUNT):
            files = archive.Files(job())
            files.fails('8-2', 124, *(said.says(
                rank, 16, 2, 'n%d' % (rank // 2 + 1), said.what('IN_FENCE')).rstrip()
                for rank in range(0, 16, 2)))
            files[name] = damage(files[name])
            self.summarize(files, 'it/' + name)


tap.main()
