/**
 * How a tenant looks on its signs and boards: a colour, and a logo as a data URL. SVG is refused, because it can carry
 * scripts; other pictures are limited in bytes and pixels before any browser decodes them.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Database } from '../db/database.ts';
import { largestLogo } from '../names.ts';

const { bytes: mostBytes, pixels: mostPixels } = largestLogo;
/** `data:image/jpeg;base64,`, and four characters for three bytes. */
const longest = 23 + Math.ceil(mostBytes / 3) * 4;
const form = /^data:(image\/(?:png|jpeg|webp));base64,([A-Za-z0-9+/]+={0,2})$/;

type Logo = { type: string; bytes: Buffer };

/** A data URL, stored or in the form of a stored one. */
function readLogo(url: string): Logo | undefined {
  const [, type, data] = form.exec(url) ?? [];
  return type && data ? { type, bytes: Buffer.from(data, 'base64') } : undefined;
}

type Size = { width: number; height: number };

/** From the first frame header on. */
function sizeOfJpeg(bytes: Buffer): Size | undefined {
  if (bytes.readUInt16BE(0) !== 0xff_d8) return undefined;
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
  }
  return undefined;
}

function sizeOfWebp(bytes: Buffer): Size | undefined {
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') return undefined;
  const kind = bytes.toString('latin1', 12, 16);
  if (kind === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  if (kind === 'VP8L') {
    const bits = bytes.readUInt32LE(21);
    return { width: (bits & 0x3f_ff) + 1, height: ((bits >>> 14) & 0x3f_ff) + 1 };
  }
  return { width: bytes.readUInt16LE(26) & 0x3f_ff, height: bytes.readUInt16LE(28) & 0x3f_ff };
}

/** Undefined if the bytes are not a picture of the given type. */
function sizeOf({ type, bytes }: Logo): Size | undefined {
  // Fewer bytes than any picture has, and enough for the reads below.
  if (bytes.length < 32) return undefined;
  if (type === 'image/jpeg') return sizeOfJpeg(bytes);
  if (type === 'image/webp') return sizeOfWebp(bytes);
  const isPng = bytes.readUInt32BE(0) === 0x89_50_4e_47 && bytes.toString('latin1', 12, 16) === 'IHDR';
  return isPng ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) } : undefined;
}

function isShowable(url: string): boolean {
  const logo = readLogo(url);
  const size = logo && logo.bytes.length <= mostBytes ? sizeOf(logo) : undefined;
  return size !== undefined && [size.width, size.height].every((side) => side >= 1 && side <= mostPixels);
}

export const lookFields = {
  Colour: z
    .string('must be a colour such as #1e6b47')
    .regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #1e6b47')
    .toLowerCase()
    .nullable(),
  Logo: z
    .string('must be a data URL in quotes')
    .max(longest, { error: `must be a picture of at most ${mostBytes} bytes`, abort: true })
    .refine(isShowable, {
      error: `must be a PNG, JPEG or WebP as a data URL with base64, of at most ${mostBytes} bytes and ${mostPixels} x ${mostPixels} pixels; SVG is not allowed, as it can carry scripts`,
    })
    .nullable(),
};

/** The name of a logo: it changes with the picture. */
export const nameOfLogo = (logo: string | null) => logo && hash('sha256', logo).slice(0, 22);

/** A look as the audit keeps it, with the name of the logo instead of the picture. */
export const auditedLook = ({ colour, logo }: { colour: string | null; logo: string | null }) => ({
  Colour: colour,
  Logo: nameOfLogo(logo),
});

/** The logo of a tenant; anybody may see it. @param code of the tenant, which need not exist */
export async function findLogo(db: Database, code: string): Promise<Logo | undefined> {
  const found = await db
    .selectFrom('mandator')
    .where('code', '=', code.toLowerCase())
    .select('logo')
    .executeTakeFirst();
  return found?.logo ? readLogo(found.logo) : undefined;
}
