"""Named fluids and solids with the source of their figures."""

from __future__ import annotations

from typing import Any, NamedTuple

from undertow.scene.base import complain
from undertow.scene.faults import suggest


class Material(NamedTuple):
    """density [kg/m3], viscosity [Pa s], and where the figures come from."""

    density: float
    viscosity: float
    source: str


MATERIALS: dict[str, Material] = {
    "water": Material(998.2, 1.0016e-3, "20 C, 1 atm; IAPWS R12-08 (viscosity), IAPWS-95 (density)"),
    "seawater": Material(1024.8, 1.077e-3, "20 C, salinity 35 g/kg; Sharqawy, Lienhard and Zubair 2010"),
    "air": Material(1.204, 1.825e-5, "20 C, 1 atm; US Standard Atmosphere 1976, Sutherland's law"),
    "olive-oil": Material(911.0, 8.4e-2, "20 C; CRC Handbook of Chemistry and Physics"),
    "engine-oil": Material(888.0, 8.0e-1, "20 C, unused; Incropera and DeWitt, table A.5"),
    "glycerol": Material(1261.0, 1.412, "20 C; Segur and Oberstar 1951"),
    "honey": Material(1420.0, 10.0, "20 C, typical; Yanniotis, Skaltsi and Karaburnioti 2006"),
    "mercury": Material(13546.0, 1.554e-3, "20 C; CRC Handbook of Chemistry and Physics"),
}


class Pair(NamedTuple):
    """Materials of a liquid and of what is beyond its surface, tension between them [N/m], and where it comes from."""

    liquid: str
    beyond: str
    tension: float
    source: str


PAIRS: dict[str, Pair] = {
    "water-air": Pair("water", "air", 7.275e-2, "20 C; IAPWS R1-76(2014)"),
    "water-oil": Pair("water", "olive-oil", 2.4e-2, "20 C, purified oil, about; Fisher, Mitchell and Parker 1985"),
    "oil-water": Pair("olive-oil", "water", 2.4e-2, "20 C, purified oil, about; Fisher, Mitchell and Parker 1985"),
    "mercury-air": Pair("mercury", "air", 4.865e-1, "20 C; Jasper 1972"),
}
"""Two fluids by one name."""


def fill_in_pair(data: Any) -> Any:
    """A scene whose ``fluid.pair`` names two fluids, with their materials and tension; its own keys go before."""
    fluid = data.get("fluid") if isinstance(data, dict) else None
    name = fluid.get("pair") if isinstance(fluid, dict) else None
    if not isinstance(name, str):
        return data
    if name not in PAIRS:
        raise complain(
            f"fluid.pair = {name!r} is unknown; {suggest(name, list(PAIRS))}The pairs are {', '.join(PAIRS)}; or give "
            "fluid, fluid.air and surface.tension"
        )
    assert isinstance(fluid, dict)
    pair, surface = PAIRS[name], data.get("surface", {})
    air = fluid.get("air")
    air = {"material": pair.beyond} if air is None else air
    liquid = {} if {"density", "material"} & fluid.keys() else {"material": pair.liquid}
    with_tension = {"tension": pair.tension, **surface} if isinstance(surface, dict) else surface
    return {**data, "fluid": {**liquid, **fluid, "air": air}, "surface": with_tension}


def default_density(liquid: bool) -> float:
    """Density [kg/m3] of a fluid that the scene says nothing about: water where it has a surface, else air."""
    return MATERIALS["water"].density if liquid else 1.2


def fill_in(data: Any) -> Any:
    """A table of a scene with the density and viscosity of the ``material`` it names; its own viscosity goes before (0:
    an inviscid fluid of that density)."""
    material = named_material(data)
    if material is None:
        return data
    return {"density": material.density, "viscosity": material.viscosity, **data}


def check_density(material: str | None, density: float | None) -> None:
    """Another density beside a material is a mistake."""
    if material is None or density is None:
        return
    own = (MATERIALS.get(material) or SOLID_MATERIALS[material]).density
    if density != own:
        raise complain(f"density = {density:g} beside material = {material!r}, whose density is {own:g}; remove one")


def named_material(data: Any) -> Material | None:
    """The fluid that a table of a scene names as its ``material``; None if it names none."""
    name = data.get("material") if isinstance(data, dict) else None
    if not isinstance(name, str):
        return None
    if name not in MATERIALS:
        raise complain(
            f"material = {name!r} is unknown; {suggest(name, list(MATERIALS))}"
            f"The materials are {', '.join(MATERIALS)}; or give density and viscosity"
        )
    return MATERIALS[name]


class SolidMaterial(NamedTuple):
    """density [kg/m3], and where the figure comes from."""

    density: float
    source: str


SOLID_MATERIALS: dict[str, SolidMaterial] = {
    "oak": SolidMaterial(700.0, "12% moisture; USDA Forest Products Laboratory, Wood Handbook 2010, table 5-3"),
    "pine": SolidMaterial(500.0, "12% moisture, typical; USDA Wood Handbook 2010, table 5-3"),
    "cork": SolidMaterial(180.0, "Gibson and Ashby, Cellular Solids, 1997"),
    "ice": SolidMaterial(916.7, "0 C; CRC Handbook of Chemistry and Physics"),
    "rubber": SolidMaterial(1100.0, "vulcanised, typical; CRC Handbook of Chemistry and Physics"),
    "brick": SolidMaterial(1900.0, "fired clay, typical; EN 1745:2012"),
    "concrete": SolidMaterial(2400.0, "normal weight; EN 1991-1-1, table A.1"),
    "granite": SolidMaterial(2700.0, "typical; CRC Handbook of Chemistry and Physics"),
    "glass": SolidMaterial(2500.0, "soda-lime; EN 572-1"),
    "aluminium": SolidMaterial(2699.0, "20 C; CRC Handbook of Chemistry and Physics"),
    "steel": SolidMaterial(7850.0, "carbon steel; EN 1991-1-1, table A.4"),
    "silver": SolidMaterial(10490.0, "20 C; CRC Handbook of Chemistry and Physics"),
    "lead": SolidMaterial(11340.0, "20 C; CRC Handbook of Chemistry and Physics"),
}
