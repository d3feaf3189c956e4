/** The Windows names of zones, which Exchange and Outlook use in iCalendar, from CLDR. */
import cldr from 'cldr-core/supplemental/windowsZones.json' with { type: 'json' };

const { mapTimezones } = cldr.supplemental.windowsZones;

/** IANA zones by Windows name. If a name has several, that of territory 001 counts, which stands for the world. */
export const windowsZones: Readonly<Record<string, string>> = Object.fromEntries(
  mapTimezones
    .filter(({ mapZone }) => mapZone._territory === '001')
    .map(({ mapZone }) => [mapZone._other, mapZone._type]),
);

const byName = new Map(Object.entries(windowsZones).map(([name, zone]) => [name.toLowerCase(), zone]));

/** The IANA zone of a Windows name, whatever its case; undefined if there is none. */
export const ofWindows = (name: string): string | undefined => byName.get(name.toLowerCase());
