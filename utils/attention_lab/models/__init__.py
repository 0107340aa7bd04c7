"""One door to the models of the course: `load(name)`, and `present(name)` before it for those that do not ship.

Nothing heavy is imported before `load` is called.
"""

from attention_lab.models.door import NAMES, Loaded, MissingModel, load
from attention_lab.models.places import SHIPPED, present

__all__ = ["NAMES", "SHIPPED", "Loaded", "MissingModel", "load", "present"]
