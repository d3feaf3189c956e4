/** The console in a browser, as a person sees it. */
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { createPin } from '../../../src/identity/service.ts';
import { pepper } from '../../_util/pepper.ts';
import type { Service } from '../../_util/service.ts';

export type ConsoleOptions = {
  role?: 'Admin' | 'Importer' | 'User' | 'Display';
  language?: 'de' | 'en';
  theme?: 'light' | 'dark';
  width?: number;
  height?: number;
  /** The time zone of the person. */
  zone?: string;
  /** A phone: fingers in place of a mouse. */
  touch?: boolean;
};

/** The address that the browser opens. */
export type Site = Pick<Service, 'url' | 'tenant'> & { context: Pick<Service['context'], 'db'> };

type Found = { violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] };

const axe = fs.readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

const nameOfFocus = `(({ ariaLabel, labels, textContent }) =>
  (ariaLabel ?? labels?.[0]?.firstChild?.textContent ?? textContent).replace(/\\s+/g, ' ').trim())(document.activeElement)`;

/** A browser of its own, at the sign-in of the service's tenant. */
export async function openConsole(browser: Browser, service: Site, options: ConsoleOptions = {}) {
  const { role = 'Admin', language = 'en', theme = 'light', width = 1280, height = 800, touch = false } = options;
  const { url, tenant } = service;
  const context = await browser.newContext({
    viewport: { width, height },
    locale: language,
    colorScheme: theme,
    reducedMotion: 'reduce',
    timezoneId: options.zone ?? 'Europe/Berlin',
    hasTouch: touch,
    isMobile: touch,
  });
  // Longer than the busiest machine needs.
  context.setDefaultTimeout(100_000);
  // Messages wait for slow machines, as they do for slow readers.
  await context.addInitScript("localStorage.setItem('roomgate stay', 'always')");
  const page = await context.newPage();
  /** Violations of the policy, errors of the page, and requests to other hosts. */
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.stack ?? error.message));
  page.on('console', (line) => {
    // It says of each request that failed, too; and a policy that is violated is an error here.
    if (line.type() === 'error' && !/^Failed to load resource|WebSocket connection to/.test(line.text()))
      complaints.push(line.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`)) complaints.push(`foreign request: ${request.url()}`);
  });

  return {
    context,
    page,
    complaints,
    open: (query = '') => page.goto(`${url}/${tenant.code}/console${query}`),
    async signIn(): Promise<void> {
      const { pin } = await createPin(service.context.db, pepper, {
        mandatorId: tenant.mandatorId,
        personId: tenant.person(role).id,
      });
      await page.getByLabel('PIN').fill(pin);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: `${role} of ${tenant.code}` }).waitFor();
    },
    /** Violations of WCAG 2.2 AA and of good practice, with their places. */
    async violations(): Promise<string[]> {
      if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe);
      // An element that is still fading in has not reached its contrast.
      await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))');
      const { violations } = await page.evaluate<Found>(`axe.run({ resultTypes: ['violations'] })`);
      return violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`,
      );
    },
    /** Walks there by Tab alone. @param name of an element, or of its label */
    async tabTo(name: string | RegExp): Promise<void> {
      const isThere = new RegExp(typeof name === 'string' ? `^${name}$` : name);
      const passed: string[] = [];
      for (let steps = 0; steps < 150; steps += 1) {
        await page.keyboard.press('Tab');
        const here = await page.evaluate<string>(nameOfFocus);
        if (isThere.test(here)) return;
        passed.push(here);
      }
      throw new Error(`Tab does not reach ${name}, but ${passed.join(' | ')}`);
    },
    /** Presses keys that the page takes for one act only while they follow each other soon, however slow the machine is. */
    pressAtOnce: (...keys: string[]) =>
      page.evaluate((all) => {
        for (const names of all.map((each) => each.split('+'))) {
          const held = { shiftKey: names.includes('Shift'), altKey: names.includes('Alt') };
          const pressed = new KeyboardEvent('keydown', {
            key: names.at(-1)!,
            ...held,
            bubbles: true,
            cancelable: true,
          });
          document.activeElement?.dispatchEvent(pressed);
        }
      }, keys),
    close: () => context.close(),
  };
}
