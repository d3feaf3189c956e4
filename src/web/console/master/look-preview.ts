/** A sign with the school's colour and logo, by day and at night. It is drawn, because a logo that is not stored has no address. */
import { useEffect, useRef } from 'preact/hooks';
import { dimmed, inkOn } from '../../ink.ts';
import { type Component, h, html } from '../parts/html.ts';
import { t } from '../texts/master.ts';

type Look = { colour: string; picture: ImageBitmap | null };

const [width, height, head] = [640, 280, 116];
const [day, night] = [
  { paper: '#f6f4ef', ink: '#1d2329', free: '#1e6b47' },
  { paper: '#11161b', ink: '#e3e7ea', free: '#17523a' },
];

/** The picture of a data URL; null if it is none. The page's content policy forbids to load data URLs. */
export async function readPicture(url: string): Promise<ImageBitmap | null> {
  const [, type = '', data = ''] = /^data:([^;]+);base64,(.*)$/.exec(url) ?? [];
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return await createImageBitmap(new Blob([bytes], { type })).catch(() => null);
}

function drawSign(pen: CanvasRenderingContext2D, { colour, picture }: Look, isNight: boolean): void {
  const theme = isNight ? night : day;
  const brand = colour && (isNight ? dimmed(colour) : colour);
  const box = (fill: string, ...place: [number, number, number, number]) => {
    pen.fillStyle = fill;
    pen.fillRect(...place);
  };
  const write = (text: string, size: number, x: number, y: number, align: CanvasTextAlign = 'left') => {
    pen.font = `600 ${size}px system-ui, sans-serif`;
    pen.textAlign = align;
    pen.fillText(text, x, y);
  };
  box(theme?.paper ?? '', 0, 0, width, height);
  if (brand) box(brand, 0, 0, width, head);
  let left = 24;
  if (picture) {
    const scale = Math.min((head - 48) / picture.height, 150 / picture.width);
    const [wide, high] = [picture.width * scale, picture.height * scale];
    box('#ffffff', left, (head - high) / 2 - 8, wide + 16, high + 16);
    pen.drawImage(picture, left + 8, (head - high) / 2, wide, high);
    left += wide + 40;
  }
  pen.fillStyle = brand ? inkOn(brand) : (theme?.ink ?? '');
  write(t().sampleRoom, 44, left, head / 2 + 16);
  write('10:15', 52, width - 24, head / 2 + 18, 'right');
  box(theme?.free ?? '', 0, head, width * 0.55, height - head);
  pen.fillStyle = '#ffffff';
  write(t().sampleState, 64, 24, head + 100);
}

const Sign: Component<Look & { isNight: boolean }> = ({ isNight, ...look }) => {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const pen = canvas.current?.getContext('2d');
    if (pen) drawSign(pen, look, isNight);
  });
  const label = isNight ? t().atNight : t().byDay;
  return html`<figure>
    <canvas ref=${canvas} width=${width} height=${height} role="img" aria-label="${t().lookPreview}: ${label}"></canvas>
    <figcaption class="hint">${label}</figcaption>
  </figure>`;
};

export const LookPreview: Component<Look> = (look) => html`
  <div class="looks">${[false, true].map((isNight) => h(Sign, { ...look, isNight, key: String(isNight) }))}</div>
`;
