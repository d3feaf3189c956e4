/** The colour and the logo of the tenant, in the head of the page. */
import { byId, make, show } from './dom.ts';

export type Look = { colour: string | null; logo: string | null };

const channels = (colour: string) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

/** Black or white, whichever is easier to read on it: the contrast is 4.58 : 1 or more on every colour. */
export function inkOn(colour: string): 'black' | 'white' {
  const [red = 0, green = 0, blue = 0] = channels(colour)
    .map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? 'black' : 'white';
}

/** Half as bright, so that it does not dazzle at night. */
const dimmed = (colour: string) =>
  `#${channels(colour)
    .map((value) => (value >> 1).toString(16).padStart(2, '0'))
    .join('')}`;

export function drawLook({ colour, logo }: Look, isNight: boolean): void {
  const { style, dataset } = document.documentElement;
  const shown = colour && (isNight ? dimmed(colour) : colour);
  if (shown) {
    dataset['brand'] = '';
    style.setProperty('--brand', shown);
    style.setProperty('--brand-ink', inkOn(shown));
  } else delete dataset['brand'];
  show(byId('logo'), logo, () => [logo && make('img', { src: `../logo?${logo}`, alt: '' })]);
}
