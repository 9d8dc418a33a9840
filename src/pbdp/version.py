"""The version of the package, which plans, manifests and pages name."""

__version__ = "0.1.0"
