import { describe, expect, test } from '@jest/globals';
import {
  type CallbackSettings,
  callbackUrl,
  readCallbackQuery,
  withSecret,
} from '../../src/mail-subscriptions/callback-url.ts';

const settings: CallbackSettings = {
  IdpUrl: 'https://idp.example',
  RoomsHost: 'https://rooms.example',
  MailServerPushNotificationUseLegacyEndpoint: false,
};
const k = '17.AbC-_';
const endpoint = (url: string, useLegacy = false): CallbackSettings => ({
  ...settings,
  MailServerPushNotificationEndpointUrl: url,
  MailServerPushNotificationUseLegacyEndpoint: useLegacy,
});

describe('the callback URL, with its secret', () => {
  test.each<[string, CallbackSettings, string]>([
    ['the default', settings, `https://idp.example/api/webhooks/mailserver?k=${k}`],
    [
      'the default below a path',
      { ...settings, IdpUrl: 'https://host.example/idp' },
      `https://host.example/idp/api/webhooks/mailserver?k=${k}`,
    ],
    [
      'the legacy one, whose query is the tenant',
      { ...settings, MailServerPushNotificationUseLegacyEndpoint: true },
      `https://rooms.example/WebServices/SyncNotification.svc?demo&k=${k}`,
    ],
    ['one of the settings', endpoint('https://hooks.example/in'), `https://hooks.example/in?k=${k}`],
    [
      'one of the settings before the legacy one',
      endpoint('https://hooks.example/', true),
      `https://hooks.example/?k=${k}`,
    ],
    ['one with a query', endpoint('https://hooks.example/in?a=1&b'), `https://hooks.example/in?a=1&b&k=${k}`],
    ['one with an empty query', endpoint('https://hooks.example/in?'), `https://hooks.example/in?k=${k}`],
    ['one whose query is open', endpoint('https://hooks.example/in?a=1&'), `https://hooks.example/in?a=1&k=${k}`],
    ['one with a fragment', endpoint('https://hooks.example/in#top'), `https://hooks.example/in?k=${k}`],
    ['one with both', endpoint('https://hooks.example/in?a=1#t?x'), `https://hooks.example/in?a=1&k=${k}`],
    ['one with a port', endpoint('https://hooks.example:8443'), `https://hooks.example:8443?k=${k}`],
    [
      'one that is the legacy path itself',
      endpoint('https://old.example/WebServices/SyncNotification.svc?demo'),
      `https://old.example/WebServices/SyncNotification.svc?demo&k=${k}`,
    ],
  ])('is %s', (_name, given, url) => {
    const callback = withSecret(callbackUrl(given, 'demo'), k);
    expect(callback).toBe(url);
    // As the mail server calls it, the secret comes back, alone and unchanged.
    expect(readCallbackQuery(new URL(callback).search)).toEqual({ secrets: [k], tokens: [] });
    expect(readCallbackQuery(`${new URL(callback).search}&validationToken=a+b%3A`)).toEqual({
      secrets: [k],
      tokens: ['a b:'],
    });
  });
});

describe('the query of a callback', () => {
  test.each<[string, string[], string[]]>([
    ['', [], []],
    ['?', [], []],
    ['?demo', [], []],
    ['?k', [], []],
    ['?k=', [''], []],
    ['?demo&k=1.a', ['1.a'], []],
    ['?k=1.a&demo', ['1.a'], []],
    ['?K=1.a&xk=2', [], []],
    ['?k=1.a&k=2%2Eb', ['1.a', '2.b'], []],
    ['?validationToken=%2B+%20%25&validationToken=', [], ['+  %', '']],
    ['?validationToken=a=b', [], ['a=b']],
    ['?k=1.a?k=2', ['1.a?k=2'], []],
    ['?x=%ff', [], []],
  ])('%s', (query, secrets, tokens) => {
    expect(readCallbackQuery(`/api/webhooks/mailserver${query}`)).toEqual({ secrets, tokens });
  });

  test.each(['?k=%', '?validationToken=%ff'])('is refused when it cannot be decoded: %s', (query) => {
    expect(() => readCallbackQuery(query)).toThrow(URIError);
  });
});
