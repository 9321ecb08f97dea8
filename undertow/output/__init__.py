"""What a run leaves for eyes and other programs: VTK files, pictures and films, plots, the web viewer, the report."""

from undertow.output.frames import (
    BodyFrame,
    FrameData,
    SurfaceFrame,
    frame_folder,
    frame_indices,
    read_frame,
    write_frame,
    write_pvd,
)

__all__ = [
    "BodyFrame",
    "FrameData",
    "SurfaceFrame",
    "frame_folder",
    "frame_indices",
    "read_frame",
    "write_frame",
    "write_pvd",
]
