# -*- coding: utf-8 -*-
"""The one entry to the course: `python3 course.py` opens it, `python3 course.py --help` says what else there is.

This file keeps to words that every Python understands, also one that is too old for the course: it looks at the version
and says one sentence, or hands over to utils/course_setup, which needs nothing but Python itself.
"""

from __future__ import print_function

import os
import sys

OLDEST, NEWEST = (3, 11), (3, 13)


def unsupported(version):
    """One sentence when this (major, minor, ...) version of Python cannot run the course, otherwise an empty text."""
    if OLDEST <= tuple(version[:2]) <= NEWEST:
        return ""
    return (
        "This is Python {0}.{1}, and the course needs 3.11, 3.12 or 3.13: install one of them "
        "and start the course with it, for example `python3.12 course.py`."
    ).format(version[0], version[1])


def main(arguments):
    """Exit code of the command in `arguments` (without the program's name)."""
    sentence = unsupported(sys.version_info)
    if sentence:
        print(sentence, file=sys.stderr)
        return 2
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "utils"))
    from course_setup.start import main as start

    return start(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
