/** Signs in a browser, as a person at the door sees them. */
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';

export type SignOptions = {
  /** Of the device; without one it is not paired. */
  token?: string | undefined;
  language?: 'de' | 'en';
  theme?: 'day' | 'night';
  /** Other parameters of the page's address. */
  query?: Record<string, string>;
  width?: number;
  height?: number;
  /** Milliseconds by which the device's clock is ahead; with it time can be moved. */
  ahead?: number;
  /** What came of a touch, its undo and its questions stay, as on a machine that is slow they would go before they are seen. */
  patient?: boolean;
};

/** Their times in src/web/display/touch.ts. */
const patience =
  'const wait = setTimeout; setTimeout = (run, ms, ...more) => ([5_000, 6_000, 10_000].includes(ms) ? 0 : wait(run, ms, ...more));';

type Found = { violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] };
export type Sign = Awaited<ReturnType<typeof openSign>>;

const axe = fs.readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** @param address of the page, below `origin` */
export async function openSign(browser: Browser, origin: string, address: string, options: SignOptions = {}) {
  const { token, language = 'en', theme, query = {}, width = 1280, height = 800, ahead, patient } = options;
  const context = await browser.newContext({ viewport: { width, height }, hasTouch: true });
  // Longer than the busiest machine needs.
  context.setDefaultTimeout(100_000);
  const page = await context.newPage();
  /** What the browser refused, and the errors of the page. */
  const complaints: string[] = [];
  const foreign: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (line) => {
    // It says of each request that failed, too.
    if (line.type() === 'error' && !line.text().startsWith('Failed to load resource')) complaints.push(line.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith('data:')) foreign.push(request.url());
  });
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  if (patient) await page.addInitScript(patience);
  if (ahead !== undefined) await page.clock.install({ time: Date.now() + ahead });

  const root = page.locator('html');
  const sign = {
    context,
    page,
    complaints,
    foreign,
    /** Another page in the same browser, which costs far less than another browser. */
    async open(to: string, as = token) {
      const parameters = new URLSearchParams({ lang: language, ...(theme && { theme }), ...query });
      // Else only what is behind the # may change, which loads nothing.
      if (page.url().startsWith(`${origin}${to}?`)) await page.goto('about:blank');
      const address = `${origin}${to}?${parameters}${as ? `#token=${encodeURIComponent(as)}` : ''}`;
      // The page before may be just about to load itself anew, and would come between.
      await page.goto(address).catch(() => page.goto(address));
    },
    /** Waits until it shows a state such as FREE. */
    async status(name: string) {
      await page
        .locator(`html[data-status="${name}"]`)
        .waitFor({ state: 'attached' })
        .catch(async (error: Error) => {
          throw new Error(`${error.message}\nIt shows ${await sign.statusNow()}: ${await sign.text()}`);
        });
    },
    /** Waits until a text stands on it. */
    shows: (text: string | RegExp) => page.getByText(text).filter({ visible: true }).first().waitFor(),
    /** All that it says. */
    text: async () => (await page.locator('body').innerText()).replace(/\s+/g, ' '),
    /** Whether it can be started without the network. */
    isKept: () =>
      page.evaluate<boolean>(
        `caches.open('roomgate pages').then((files) => files.match(location.pathname)).then(Boolean)`,
      ),
    statusNow: () => root.getAttribute('data-status'),
    button: (name: string | RegExp) => page.getByRole('button', { name }),
    /** Violations of WCAG 2.2 AA and of good practice, with their places. */
    async violations(): Promise<string[]> {
      if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe);
      const { violations } = await page.evaluate<Found>(`axe.run({ resultTypes: ['violations'] })`);
      return violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`,
      );
    },
    close: () => context.close(),
  };
  await sign.open(address);
  return sign;
}
