"""incompressible-statics: solids that keep their volume rest at the constrained minimum of their energy."""
