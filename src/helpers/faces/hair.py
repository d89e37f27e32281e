"""Hair and head coverings: a shell around the cranium, its hairline, texture and light.

All styles share one shell: an ellipsoid over the cranium, stretched downwards to the hair's end.
A style sets the shell's thickness, end, lumps and bun, which part of the shell is cut away for
the face, and the texture tile. The near side is drawn over the head, the far side behind it.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from helpers.faces.anatomy import Anatomy, Columns
from helpers.faces.camera import Light
from helpers.faces.colours import hair_colour
from helpers.faces.hair_styles import STYLES, Style
from helpers.faces.hair_tiles import KINDS, atlas_level, sample_hair
from helpers.faces.marching import SETTLED, Hit
from helpers.faces.maths import Vector, add, bump, dot, field_normal, mix, scale, smoothstep, unit
from helpers.faces.parameters import HAIR_STYLES, hair_styles
from helpers.faces.shading import clothing_colour

JOINT_Y = 0.22
"""Above, the shell follows the cranium; below, it is stretched down to the hair's end."""

EDGE_MARGIN = 0.2
"""How far outside the hairline strands may still show."""


@cache
def _style_constants(device: torch.device) -> dict[str, Tensor]:
    """Every constant of every style, (styles, 1); `tile` as its place in the atlas."""
    styles = [STYLES[name] for name in HAIR_STYLES]
    rows = {name: [getattr(s, name) for s in styles] for name in vars(styles[0])}
    rows["tile"] = [float(KINDS.index(s.tile)) for s in styles]
    return {name: torch.tensor(row, device=device)[:, None] for name, row in rows.items()}


class Hair:
    """Shell field, hairline and look of a batch of hair styles."""

    def __init__(self, columns: Columns, head: Anatomy, pixel: float) -> None:
        self.head, self.columns, self.pixel = head, columns, pixel
        self.length = columns("hair_length")
        index = hair_styles(columns.parameters)
        constants = _style_constants(index.device)
        self.style = Style(
            "", **{name: v[index] for name, v in constants.items() if name != "tile"}
        )
        self.tile = constants["tile"][index]
        self.is_covered = (index == HAIR_STYLES.index("covered"))[:, None]
        self.any_covered = bool(self.is_covered.any())
        self.any_bun = bool((self.style.tied > 0).any())
        self._shape()

    def _shape(self) -> None:
        """Sizes of the shell from style, length and identity."""
        style, length = self.style, self.length
        self.curl = self.columns.identity("hair_curl")
        self.volume = self.columns.identity("hair_volume")
        self.parting = self.columns.identity("hair_parting")
        fringe = smoothstep(0.4, 1.8, self.columns("hair_fringe"))
        self.fringe = torch.maximum(fringe, style.fringe) * style.loose
        covered = self.is_covered.to(length.dtype)
        # A covering has its own fixed volume; hair grows out of the scalp.
        grown = torch.where(self.is_covered, torch.ones_like(length), length)
        full = 0.005 + 0.175 * smoothstep(0.0, 0.35, grown)
        self.thickness = (
            full
            + style.thickness * smoothstep(0.0, 0.3, grown)
            + style.growth * length
            + 0.020 * self.volume * (1 - covered)
            + 0.03 * self.curl.clamp_min(0) * style.loose * smoothstep(0.05, 0.3, length)
        ).clamp_min(0.005)
        hanging = mix(0.10, -2.1, smoothstep(0.22, 1.05, length))
        self.end = mix(style.nape, hanging, style.loose)
        self.roundness = style.roundness + style.round * 0.50 * length
        self.tip = self.end - style.round * self.roundness
        self.long = smoothstep(0.28, 0.55, length) * style.loose
        self.presence = torch.maximum(smoothstep(0.0, 0.06, length), covered)
        self.opacity = torch.maximum(smoothstep(0.03, 0.14, length), covered)
        self.spread = (style.spread + 0.08 + 0.04 * self.volume) * torch.maximum(
            smoothstep(0.3, 0.7, length) * style.loose, covered
        )
        self.present = self.presence * self.opacity > 0
        self.lump = style.lump * smoothstep(0.05, 0.4, length)
        self.lump = self.lump + 0.008 * self.curl.clamp_min(0) * self.long
        self.bun_radius = mix(-9.0, 0.17 + 0.17 * length, style.tied)
        self.cap = torch.maximum(self.long, torch.maximum(style.round, covered))
        self._radii()

    def _radii(self) -> None:
        """Radii of the shell: half width is `_side` plus `_top` higher up; others inverse."""
        skull, thickness = self.head.skull, self.thickness + 0.04 * self.opacity
        self._side = skull.cranium[0] + thickness * mix(0.25, 1.0, self.cap)
        self._top = thickness * mix(0.75, 0.0, self.cap)
        self._below = 1 / self.roundness
        self._above = 1 / (skull.cranium[1] + 0.28 - JOINT_Y + 1.05 * self.thickness)
        self._back = 1 / (skull.cranium[2] + 0.7 * self.thickness + 0.02)

    def __call__(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        """Signed distance of the shell and the bun."""
        shell = self._shell(x, y, z)
        return torch.minimum(shell, self._bun(x, y, z)) if self.any_bun else shell

    def _shell(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        """Distance to an ellipsoid whose half width and lower half change with height.

        As in `quadrics`, but written out: the radii differ from point to point. `across`, `up`
        and `back` are offsets from the centre in radii; their steepness is one radius smaller.
        """
        # Short hair is thin at the sides and thick on top.
        half_width = torch.addcmul(self._side, self._top, smoothstep(0.05, 0.75, y))
        half_width = half_width.addcmul_(self.spread, smoothstep(0.2, -1.2, y))
        across = x / half_width
        below, above = (y - self.end).clamp_max_(0), (y - JOINT_Y).clamp_min_(0)
        up = (below * self._below).addcmul_(above, self._above)
        steep_up = below.mul_(self._below**2).addcmul_(above, self._above**2)
        back = (z + 0.17) * self._back
        level = (across * across).addcmul_(up, up).addcmul_(back, back)
        across, back = across.div_(half_width), back.mul_(self._back)
        slope = across.square_().addcmul_(steep_up, steep_up).addcmul_(back, back).add_(1e-9)
        shell = (level - level.sqrt()).div_(slope.sqrt_())
        style = self.style
        waves = (x * style.lump_x).sin_()
        waves.mul_((y * style.lump_y).add_(x, alpha=2.0).sin_())
        waves.mul_((z * style.lump_x).add_(1.0).sin_())
        return shell.addcmul_(self.lump, waves, value=-1)

    def _bun(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        up, back = y - (1.13 + 0.25 * self.bun_radius.clamp_min(0)), z + 0.42
        square = (x * x).addcmul_(up, up).addcmul_(back, back).add_(1e-6)
        return square.sqrt_().sub_(self.bun_radius)

    def crease(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        """1 where the bun meets the head, 0 elsewhere."""
        if not self.any_bun:
            return torch.zeros_like(y)
        return bump((self._bun(x, y, z) - self._shell(x, y, z)) / 0.05) * self.style.tied

    def edge(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        """How far inside the haired region a point of the shell lies; negative over the face."""
        traits, style, columns = self.head.traits, self.style, self.columns
        around = torch.atan2(x.abs(), z + 0.29)  # 0 in front, pi behind
        shifted = x - 0.10 * self.parting * (1 - style.tied)
        grown = smoothstep(0.08, 0.3, self.length)
        forehead = 0.84 + 0.03 * traits.child - 0.36 * self.fringe * grown
        receding = traits.old * columns("gender")
        forehead = forehead - 0.05 * receding + 0.10 * receding * bump((x.abs() - 0.35) / 0.18)
        forehead = forehead - 0.50 * shifted * shifted * (1 - 0.7 * self.fringe)
        opening = mix(1.02, 0.68 - 0.03 * self.volume, self.long) + 0.25 * style.tied
        opening = opening + 0.20 * smoothstep(-0.1, -0.9, y) * smoothstep(0.3, 0.7, self.length)
        beside = smoothstep(opening - 0.16, opening + 0.10, around)
        inside = y - mix(forehead, self.tip, beside)
        if not self.any_covered:
            return inside
        skull = self.head.skull
        middle, half = 0.5 * (0.72 + skull.chin_y), 0.5 * (0.72 - skull.chin_y)
        oval = torch.sqrt((x / (0.66 * skull.width)) ** 2 + ((y - middle) / half) ** 2 + 1e-6) - 1
        oval = torch.where(z > 0, oval, 1.0)
        return torch.where(self.is_covered, 0.6 * oval, inside)

    def grows(self, point: Vector, nearest: Tensor) -> Tensor:
        """Whether a ray may show hair; `point` is where it ended, `nearest` its closest approach.

        Tone frays the edge a little; where a ray that missed came closest is not known.
        """
        haired = self.edge(*point) > -EDGE_MARGIN - self.pixel
        return self.present & (haired | (nearest > SETTLED))

    def coordinates(self, point: Vector) -> tuple[Tensor, Tensor]:
        """Texture coordinates: around the head (from the parting on top) and upwards."""
        x, y, z = point
        style = self.style
        seed = 0.61803 * self.columns("texture_seed")
        top = smoothstep(0.2, 1.0, y)
        back = z + 0.35 + 0.9 * smoothstep(0.4, 1.1, y)
        around = torch.atan2(x - 0.16 * self.parting * top, back)
        # Combed hair runs backwards: strands are lines of constant height at the sides.
        combed = torch.atan2(y - 0.9, x.abs() + 0.15)
        around = mix(around, combed, style.tied)
        up = y - 0.5 * z * smoothstep(0.3, 1.1, y)
        return style.u * around + seed, style.v * up + seed

    def texture(self, point: Vector) -> Tensor:
        """Tone and slopes (n, 3, k)."""
        u, v = self.coordinates(point)
        wave = 0.006 * self.curl.clamp(0, 3) * torch.sin(9 * point[1] + 3 * point[0])
        return sample_hair(self.tile, u + wave, v, atlas_level(self.pixel))

    def colour(self) -> Tensor:
        """Linear-light colour (n, 3, 1) of hair or cloth."""
        hair = hair_colour(self.columns("hair_colour"), self.columns("age"))
        return torch.where(self.is_covered[:, :, None], clothing_colour(self.columns), hair)


def near_hair(hit: Hit, hair: Hair, light: Light) -> tuple[Tensor, Tensor]:
    """Colour (n, 3, k) and opacity (n, k) of the shell's near side."""
    tone, slope_u, slope_v = hair.texture(hit.point).unbind(1)
    style = hair.style
    normal = field_normal(hair, hit.point, 0.02)
    x, _, z = hit.point
    reach = torch.rsqrt(x * x + z * z + 1e-4)
    around = (z * reach, torch.zeros_like(x), -x * reach)
    down = unit(_tangent((0.0, -1.0, 0.0), normal))
    bumpy = add(normal, scale(around, -style.relief * slope_u))
    normal = unit(add(bumpy, scale(down, style.relief * slope_v)))

    fibre = unit(add(_tangent((0.0, -1.0, 0.0), normal), scale(normal, 0.20 * tone)))
    view = scale(hit.rays.direction, -1)
    half = unit(add(light.head, view))
    toward_light = dot(normal, light.head)
    diffuse = (0.35 + 0.65 * toward_light).clamp_min(0.05)
    sky = light.ambient * (0.65 + 0.35 * dot(normal, light.up))
    shade = (light.key * diffuse + sky) * (1 + style.contrast * tone).clamp(0.25, 1.8)
    # Kajiya and Kay (1989): fibres shine where the half vector is across them.
    along = dot(fibre, half)
    shine = (1 - along * along).clamp_min(0) ** 22 * (0.30 + 0.7 * toward_light.clamp_min(0))
    shine = 0.16 * light.key * style.gloss * shine * (0.6 + 0.5 * tone).clamp(0, 1.5)
    colour = hair.colour()
    edge = hair.edge(*hit.point) + style.ragged * tone * smoothstep(0.05, 0.3, hair.length)
    lit = colour * shade[:, None] + shine[:, None] * (0.9 * colour + 0.12)
    crease = 1 - 0.5 * hair.crease(*hit.point)
    lit = lit * ((0.55 + 0.45 * smoothstep(0.0, 0.25, edge)) * crease)[:, None]
    opacity = hit.coverage * smoothstep(-0.02 - hair.pixel, 0.04 + hair.pixel, edge)
    return lit, opacity * hair.presence * hair.opacity


def far_hair(hit: Hit, hair: Hair, light: Light) -> tuple[Tensor, Tensor]:
    """Colour (n, 3, k) and opacity (n, k) of the far side, seen from within, in shadow."""
    tone = hair.texture(hit.point)[:, 0]
    y = hit.point[1]
    lowest = mix(torch.maximum(hair.tip, torch.full_like(hair.tip, -0.55)), hair.tip, hair.cap)
    ragged = 1.5 * hair.style.ragged * tone * smoothstep(0.3, 0.8, hair.length)
    opacity = hit.coverage * smoothstep(-0.06, 0.06, y - lowest + 0.02 + ragged)
    shade = (0.28 + 0.07 * tone).clamp(0.1, 0.6) * (light.ambient + 0.28 * light.key)
    return hair.colour() * shade[:, None], opacity * hair.presence * hair.opacity


def shadow_on_head(hair: Hair, point: Vector) -> Tensor:
    """Light (n, k) left on the head near the hairline."""
    strength = torch.maximum(
        smoothstep(0.1, 0.4, hair.length), hair.is_covered.to(hair.length.dtype)
    )
    return 1 - 0.38 * smoothstep(-0.24, 0.02, hair.edge(*point)) * strength * hair.presence


def scalp_stubble(hair: Hair, point: Vector) -> Tensor:
    """Weight (n, k) of the tint of cropped hair on the scalp."""
    within = smoothstep(-0.03, 0.09, hair.edge(*point))
    cropped = (1 - smoothstep(0.06, 0.20, hair.length)) * smoothstep(0.005, 0.05, hair.length)
    bare = 1 - hair.is_covered.to(hair.length.dtype)
    return 0.65 * within * cropped * bare


def _tangent(direction: tuple, normal: Vector) -> Vector:
    """Part of a direction that lies in the surface."""
    along = dot(direction, normal)
    return tuple(d - along * n for d, n in zip(direction, normal, strict=True))
