"""Named fluids with the source of their figures."""

from __future__ import annotations

from typing import NamedTuple


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
