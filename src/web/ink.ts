/** The colour of text on a tenant's colour: on signs, on boards and in the console's preview of them. */

const channels = (colour: string) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

/** Black or white, whichever is easier to read on it: the contrast is 4.58 : 1 or more on every colour. */
export function inkOn(colour: string): 'black' | 'white' {
  const [red = 0, green = 0, blue = 0] = channels(colour)
    .map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? 'black' : 'white';
}

/** Half as bright, so that it does not dazzle at night. */
export const dimmed = (colour: string): string =>
  `#${channels(colour)
    .map((value) => (value >> 1).toString(16).padStart(2, '0'))
    .join('')}`;
