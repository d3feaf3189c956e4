/** The day that a screen shows. */
import { useRef } from 'preact/hooks';
import { isDay } from '../clock.ts';
import { Field } from './field.ts';
import { type Component, h } from './html.ts';

type DayFieldProperties = {
  label: string;
  day: string;
  /** @param how so that Back undoes a whole typed date, not each part of it */
  onPick: (day: string, how: 'push' | 'replace') => void;
};

export const DayField: Component<DayFieldProperties> = ({ label, day, onPick }) => {
  /** The day that was entered last, until the field is left; then none. */
  const entered = useRef('');
  const pick = (text: string) => {
    if (!isDay(text) || text === day) return;
    onPick(text, entered.current === day ? 'replace' : 'push');
    entered.current = text;
  };
  const leave = () => {
    entered.current = '';
  };
  return h(Field, { label, hideLabel: true, type: 'date', value: day, onInput: pick, onBlur: leave });
};
