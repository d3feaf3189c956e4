import { describe, expect, test } from '@jest/globals';
import { childOf, childrenOf, escapeXml, readXml, textOf, XmlFault } from '../../src/mail-servers/xml.ts';
import { costOf } from '../_util/growth.ts';

const most = 20_000;
const read = (text: string) => readXml(Buffer.from(text), most);

describe('what is well-formed is read', () => {
  test('by namespace and local name, whatever the prefixes', () => {
    for (const text of [
      '<a:x xmlns:a="urn:1"><a:y k="v">t</a:y></a:x>',
      '<x xmlns="urn:1"><y k="v">t</y></x>',
      '\uFEFF<?xml version="1.0" encoding="UTF-8"?>\r\n<!-- c --><x xmlns="urn:1"><?pi?><y k="v"><![CDATA[t]]></y></x>',
    ]) {
      const root = read(text);
      const [y] = childrenOf(root, 'urn:1', 'y');
      expect([root.namespace, root.name, y?.attributes.get('k'), textOf(root, 'urn:1', 'y')]).toEqual([
        'urn:1',
        'x',
        'v',
        't',
      ]);
      expect(childOf(root, 'urn:2', 'y')).toBeUndefined();
    }
  });

  test('with the five entities and characters by number, and attributes of a namespace apart', () => {
    const root = read('<x xmlns:n="urn:n" a="1" n:a="2">&lt;&amp;&gt;&quot;&apos;&#228;&#x1F600;</x>');
    expect(root.text).toBe('<&>"\'ä😀');
    expect([...root.attributes]).toEqual([
      ['a', '1'],
      ['{urn:n}a', '2'],
    ]);
  });

  test('names of objects are names like any other', () => {
    const root = read('<__proto__ constructor="c" __proto__="p"><toString>t</toString></__proto__>');
    expect(root.name).toBe('__proto__');
    expect(root.attributes.get('__proto__')).toBe('p');
    expect(textOf(root, '', 'toString')).toBe('t');
    expect(({} as { c?: unknown }).c).toBeUndefined();
  });

  test('what is escaped comes back, and what XML cannot hold is replaced', () => {
    const text = `<&>"'\r\n\t]]> ä😀`;
    expect(read(`<x a="${escapeXml(text)}">${escapeXml(text)}</x>`).text).toBe(text);
    expect(escapeXml('a\0b\x1bc\ud800d\uffff')).toBe('a\ufffdb\ufffdc\ufffdd\ufffd');
  });
});

const entities = (count: number, of: (name: string, before: string) => string) =>
  Array.from({ length: count }, (_, i) => of(`e${i + 1}`, `e${i}`)).join('');

const hostile: Record<string, string | Buffer> = {
  'billion laughs': `<!DOCTYPE x [<!ENTITY e0 "ha">${entities(30, (name, before) => `<!ENTITY ${name} "${`&${before};`.repeat(10)}">`)}]><x>&e30;</x>`,
  'quadratic blow-up': `<!DOCTYPE x [<!ENTITY a "${'a'.repeat(100_000)}">]><x>${'&a;'.repeat(100_000)}</x>`,
  'an external entity': '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><x>&f;</x>',
  'an external DTD': '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd"><x/>',
  'a DOCTYPE alone': '<!DOCTYPE x><x/>',
  'a DOCTYPE after a comment': '<!-- --><!DOCTYPE x><x/>',
  'a DOCTYPE that never ends': `<!DOCTYPE x [${'<!ELEMENT x ANY>'.repeat(50_000)}`,
  'an entity of its own': '<x>&nbsp;</x>',
  'an entity named like a member of objects': '<x>&constructor;</x>',
  '100,000 levels': '<x>'.repeat(100_000) + '</x>'.repeat(100_000),
  '33 levels': '<x>'.repeat(33) + '</x>'.repeat(33),
  '300,000 elements': `<x>${'<y/>'.repeat(300_000)}</x>`,
  '100,000 attributes': `<x ${entities(100_000, (name) => `${name}="" `)}/>`,
  'a long namespace that is used often': `<x xmlns:n="${'u'.repeat(500_000)}">${'<y n:a=""/>'.repeat(19_000)}</x>`,
  'UTF-16 with its mark': Buffer.from('\uFEFF<x/>', 'utf16le'),
  'UTF-16 without it': Buffer.from('<x/>', 'utf16le'),
  'UTF-16 by its declaration': '<?xml version="1.0" encoding="utf-16"?><x/>',
  'ISO-8859-1 by its declaration': '<?xml version="1.0" encoding="ISO-8859-1"?><x/>',
  'bytes that are not UTF-8': Buffer.from([...Buffer.from('<x>'), 0xe4, ...Buffer.from('</x>')]),
  'U+0000': '<x>\0</x>',
  'a control character': '<x a="\x1b"/>',
  'a control character by its number': '<?xml version="1.1"?><x>&#1;</x>',
  'half a surrogate by its number': '<x>&#xD800;</x>',
  'a wrong end': '<x><y></x></y>',
  'an end too few': '<x>',
  'two roots': '<x/><x/>',
  'text behind the root': '<x/>y',
  'a prefix without a namespace': '<n:x/>',
  'an attribute twice': '<x a="1" a="2"/>',
  'a comment that never ends': `<x><!--${'-'.repeat(1_000_000)}`,
  'CDATA that never ends': `<x><![CDATA[${']'.repeat(1_000_000)}`,
  'half a million entities, then nothing': `<x>${'&lt;'.repeat(250_000)}`,
  '150,000 comments': `${'<!---->'.repeat(150_000)}<x/>`,
  'a million spaces': `<x>${' '.repeat(1_000_000)}`,
  'a million ends of lines': `<x>${'\r'.repeat(1_000_000)}`,
  'an attribute of a million spaces': `<x a="${' '.repeat(1_000_000)}`,
  'a name of a million letters': `<${'x'.repeat(1_000_000)}`,
  'a million spaces before it': `${' '.repeat(1_000_000)}`,
  nothing: '',
  'no XML': '{"value":[]}',
};

describe('refused in little time', () => {
  test.each(Object.entries(hostile))('%s', (_name, text) => {
    const bytes = Buffer.from(text as string);
    expect(costOf(() => expect(() => readXml(bytes, most)).toThrow(XmlFault), 12)).toBeLessThan(12);
  });
});
