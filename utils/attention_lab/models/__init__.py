"""One door to the models of the course: `load(name)`. Nothing heavy is imported before it is called."""

from attention_lab.models.door import NAMES, Loaded, MissingModel, load

__all__ = ["NAMES", "Loaded", "MissingModel", "load"]
