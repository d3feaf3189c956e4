/** The names that Windows gives to zones, by which Exchange and Outlook call them in iCalendar: those of CLDR. */
import cldr from 'cldr-core/supplemental/windowsZones.json' with { type: 'json' };

const { mapTimezones } = cldr.supplemental.windowsZones;

/** IANA zones by these names; of several that have one name, the one that is of no country. */
export const windowsZones: Readonly<Record<string, string>> = Object.fromEntries(
  mapTimezones
    .filter(({ mapZone }) => mapZone._territory === '001')
    .map(({ mapZone }) => [mapZone._other, mapZone._type]),
);
