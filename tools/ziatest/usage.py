"""usage - the texts that the tools print for --help, for --version and after a usage error

All of it comes from the docstring of the tool, which begins with its name.
"""
import subprocess

from .children import find_file

def usage(doc):
    """Returns the lines that show how to call the tool."""
    return doc.split('\n\n')[1]

def version():
    """The version of the ziatest next to the tools, which alone knows it"""
    path = find_file('../ziatest', '../../../bin/ziatest')
    if not path:
        return 'of unknown version, because ziatest is not built'
    try:
        return subprocess.check_output([path, '--version']).decode('ascii').split()[1]
    except (OSError, subprocess.CalledProcessError):
        return f'of unknown version, because {path} does not run'

def answer(doc, options):
    """Returns the text to print if OPTIONS ask for help or for the version; otherwise ''."""
    if {'-h', '--help'} & set(options):
        return doc.split('\n\n', 1)[1].rstrip()
    if {'-V', '--version'} & set(options):
        return f'ziatest-{doc.split()[0]} (ziatest) {version()}'
    return ''
