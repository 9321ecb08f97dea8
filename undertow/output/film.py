"""Pictures and films on disk, replaced in one move so that nobody sees half a file."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from undertow.errors import UserError


def write_png(path: Path, picture: np.ndarray) -> None:
    """Save 8-bit RGB (height, width, 3)."""
    from PIL import Image

    temporary = path.with_name(f".{path.name}.tmp")
    Image.fromarray(picture).save(temporary, format="PNG", optimize=False)
    os.replace(temporary, path)


def write_mp4(path: Path, pictures: Iterable[np.ndarray], rate: float) -> None:
    """Encode 8-bit RGB pictures of one even size as H.264, yuv420p, with the ffmpeg that imageio-ffmpeg carries."""
    temporary = path.with_name(f".{path.name}.tmp")
    encoder = None
    try:
        for picture in pictures:
            if encoder is None:
                encoder = _start_encoder(temporary, picture.shape[1], picture.shape[0], rate)
            assert encoder.stdin is not None
            try:
                encoder.stdin.write(picture.tobytes())
            except BrokenPipeError:
                break
        if encoder is None:
            raise UserError(f"{path.name}: there are no frames to make a film of")
        _, errors = encoder.communicate()
        if encoder.returncode != 0:
            raise UserError(f"{path.name}: ffmpeg failed: {errors.decode(errors='replace').strip()[-500:]}")
        os.replace(temporary, path)
    finally:
        if encoder is not None and encoder.poll() is None:
            encoder.kill()
            encoder.wait()
        temporary.unlink(missing_ok=True)


def _start_encoder(path: Path, width: int, height: int, rate: float) -> subprocess.Popen[bytes]:
    from imageio_ffmpeg import get_ffmpeg_exe

    options = ["-hide_banner", "-loglevel", "error", "-y"]
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{rate:g}", "-i", "-"]
    # bitexact and one thread: the same pictures give the same file
    codec = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "18", "-pix_fmt", "yuv420p", "-threads", "1"]
    target = ["-movflags", "+faststart", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-f", "mp4", str(path)]
    return subprocess.Popen(
        [get_ffmpeg_exe(), *options, *source, *codec, *target],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
