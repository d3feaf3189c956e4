/** A sign in each of its states, for whoever looks at them: axe, or a person. */
import type { Browser } from 'playwright-core';
import { type Cable, layCable } from './cable.ts';
import { fillSchool, minute, openSchool, school as rooms, type School } from './school.ts';
import type { Service } from './service.ts';
import { openSign, type Sign, type SignOptions } from './signs.ts';

type Look = Pick<SignOptions, 'language' | 'theme' | 'width' | 'height'>;
type State = {
  /** What it is called in messages and names of files. */
  name: string;
  show(look: Look): Promise<Sign>;
};

/** Makes a tenant whose rooms are in all states; its signs stay open until they are closed. */
export async function openStates(service: Service, browser: Browser) {
  const school: School = await openSchool(service, 'schule', 12);
  await fillSchool(school);
  const { token } = await school.pair({ LocationId: school.locationId, MayBook: true });
  const cables: Cable[] = [];

  /** @param button what it offers, as the name of the button in each language */
  const ofRoom = (name: string, room: string, status: string, button?: RegExp): State => ({
    name,
    async show(look) {
      const sign = await openSign(browser, service.url, school.sign(room), { token, ...look });
      await sign.status(status);
      // What it may do it learns after what it shows.
      if (button) await sign.button(button).first().waitFor();
      return sign;
    },
  });
  /** The network is cut for so long, from a state on. */
  const cutFrom = (name: string, room: string, status: string, minutes: number, then: string): State => ({
    name,
    async show(look) {
      const cable = await layCable(service.url);
      cables.push(cable);
      const sign = await openSign(browser, cable.url, school.sign(room), { token, ahead: 0, ...look });
      await sign.status(status);
      cable.cut();
      await sign.page.clock.fastForward(minutes * minute);
      await sign.status(then);
      return sign;
    },
  });

  const states: State[] = [
    ofRoom('free', rooms.free, 'FREE', /15 min/),
    ofRoom('busy', rooms.busy, 'BUSY', /^(End|Beenden)$/),
    ofRoom('ending-soon', rooms.endingSoon, 'ENDING_SOON', /^(End|Beenden)$/),
    ofRoom('check-in-due', rooms.checkInDue, 'CHECK_IN_DUE', /^(Check in|Einchecken)$/),
    ofRoom('closed', rooms.closed, 'CLOSED'),
    ofRoom('out-of-service', rooms.outOfService, 'OUT_OF_SERVICE'),
    ofRoom('moved-away', rooms.movedFrom, 'FREE'),
    ofRoom('moved-here', rooms.movedTo, 'FREE'),
    cutFrom('stale', rooms.busy, 'BUSY', 2, 'BUSY'),
    cutFrom('unknown', rooms.free, 'FREE', 20, 'UNKNOWN'),
    {
      name: 'offline',
      async show(look) {
        const sign = await openSign(browser, service.url, school.sign(rooms.free), { token, ...look });
        await sign.status('FREE');
        await sign.context.setOffline(true);
        await sign.page.locator('html[data-link="offline"]').waitFor({ state: 'attached' });
        return sign;
      },
    },
    {
      name: 'pairing',
      async show(look) {
        const sign = await openSign(browser, service.url, school.sign(rooms.free), look);
        await sign.page.locator('.code').waitFor();
        return sign;
      },
    },
    {
      name: 'not-given',
      async show(look) {
        const address = school.url('door-sign', 999_999);
        const sign = await openSign(browser, service.url, address, { token, ...look });
        await sign.shows(rooms.free);
        return sign;
      },
    },
    {
      name: 'board',
      async show(look) {
        const sign = await openSign(browser, service.url, school.board, { token, ...look });
        await sign.shows(rooms.busy);
        return sign;
      },
    },
  ];
  return {
    states,
    async close() {
      for (const cable of cables) await cable.close();
    },
  };
}
