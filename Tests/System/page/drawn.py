#!/usr/bin/env python3
"""Draws SVGs by rsvg-convert, as slides and documents do: are they in color?

    SQUALL=.build/debug/squall python3 Tests/System/page/drawn.py             those of docs/images, and a plan of each scenario
    SQUALL=.build/debug/squall python3 Tests/System/page/drawn.py --keep DIR  also leaves the PNGs there, to look at

A picture has at least three hues, and less than 5 % of it is black. Exit code 1, with the reason, if one doesn't hold.
"""
import argparse, colorsys, os, pathlib, shutil, struct, subprocess, sys, tempfile, zlib

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.programs import ROOT, SQUALL

REPOSITORY = pathlib.Path(ROOT)
# A hue is 30 degrees of the circle that have more than this share of the pixels.
HUES, SHARE, BLACK = 3, 0.0002, 0.05


def pixels(data):
    """The pixels of a PNG of 8 bits a channel without interlacing, as rsvg-convert writes it, on white."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    place, packed, header = 8, b"", None
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place:place + 8])
        chunk = data[place + 8:place + 8 + length]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", chunk)
        elif kind == b"IDAT":
            packed += chunk
        place += length + 12
    width, height, depth, color, _, _, interlaced = header
    assert depth == 8 and color in (2, 6) and not interlaced, header
    step = 4 if color == 6 else 3
    raw, before = zlib.decompress(packed), bytearray(width * step)
    for row in range(height):
        begin = row * (width * step + 1)
        line = unfiltered(raw[begin], bytearray(raw[begin + 1:begin + 1 + width * step]), before, step)
        before = line
        for x in range(0, len(line), step):
            red, green, blue = line[x:x + 3]
            alpha = line[x + 3] / 255 if step == 4 else 1
            yield tuple(round(value * alpha + 255 * (1 - alpha)) for value in (red, green, blue))


def unfiltered(kind, line, before, step):
    """A line without its filter (RFC 2083, section 6)."""
    for x in range(len(line) if kind else 0):
        left, above = line[x - step] if x >= step else 0, before[x]
        corner = before[x - step] if x >= step else 0
        if kind == 4:
            guess = left + above - corner
            near = min((left, above, corner), key=lambda value: abs(guess - value))
        else:
            near = {1: left, 2: above, 3: (left + above) // 2}[kind]
        line[x] = (line[x] + near) & 255
    return line


def judge(svg, png):
    subprocess.run(["rsvg-convert", "--output", png, svg], check=True)
    counts, black, all_pixels = [0] * 12, 0, 0
    seen = {}
    for pixel in pixels(pathlib.Path(png).read_bytes()):
        seen[pixel] = seen.get(pixel, 0) + 1
    for (red, green, blue), count in seen.items():
        all_pixels += count
        if max(red, green, blue) < 32:
            black += count
        if max(red, green, blue) - min(red, green, blue) >= 16:
            counts[int(colorsys.rgb_to_hsv(red, green, blue)[0] * 12) % 12] += count
    return sum(count > SHARE * all_pixels for count in counts), black / all_pixels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", metavar="DIR", help="where to leave the PNGs")
    options = parser.parse_args()
    if not shutil.which("rsvg-convert"):
        sys.exit("rsvg-convert is missing: scripts/install.sh drawn installs it")
    failures = 0
    with tempfile.TemporaryDirectory(prefix="squall-drawn-") as folder:
        folder = pathlib.Path(options.keep or folder)
        folder.mkdir(parents=True, exist_ok=True)
        svgs = sorted((REPOSITORY / "docs/images").glob("*.svg"))
        for profile in sorted((REPOSITORY / "Profiles").glob("*.json")):
            if not profile.name.endswith(".schema.json"):
                svg = folder / f"plan-of-{profile.stem}.svg"
                subprocess.run([SQUALL, "plan", profile, "--seed", "7", "--svg", svg], check=True, stdout=subprocess.DEVNULL)
                svgs.append(svg)
        for svg in svgs:
            hues, black = judge(svg, folder / f"{svg.stem}.png")
            holds = hues >= HUES and black < BLACK
            failures += not holds
            print(f"{'ok ' if holds else 'BAD'} {svg.stem:32} {hues} hues, {black:.1%} black", flush=True)
    print(f"{len(svgs)} pictures, {failures} fail")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
