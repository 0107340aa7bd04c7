"""How `course.py` makes and finds the environment that the course runs in; standard library only.

start.py         the command line: what was asked for, and handing over
places.py        where things are: the checkout, the environment, the log
environment.py   is the environment sound? if not, make or mend it
installing.py    pip with progress that moves, and its failures as sentences
requirements.py  does an environment hold what pyproject.toml asks for? (the only module that needs `packaging`)
"""
