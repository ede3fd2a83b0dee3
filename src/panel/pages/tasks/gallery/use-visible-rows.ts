import { type RefObject, useEffect, useMemo, useState } from 'react';
import { type Arrangement, arrangeTiles, visibleRows } from './arrange-tiles.ts';

/** How tiles are arranged in the element, and which rows of it are on the screen. */
export function useVisibleRows(box: RefObject<HTMLElement | null>, count: number) {
  const [width, setWidth] = useState(0);
  const arrangement: Arrangement = useMemo(() => arrangeTiles(count, width), [count, width]);
  const [range, setRange] = useState({ start: 0, end: 0 });
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [box]);
  useEffect(() => {
    let frame = 0;
    const measure = (): void => {
      frame = 0;
      if (box.current === null) return;
      const next = visibleRows(arrangement, -box.current.getBoundingClientRect().top, window.innerHeight);
      setRange((before) => (before.start === next.start && before.end === next.end ? before : next));
    };
    const onScroll = (): void => {
      if (frame === 0) frame = requestAnimationFrame(measure);
    };
    measure();
    // Scrolls of any element, since not the window but the frame's main part may scroll.
    document.addEventListener('scroll', onScroll, { capture: true, passive: true });
    window.addEventListener('resize', onScroll);
    return () => {
      cancelAnimationFrame(frame);
      document.removeEventListener('scroll', onScroll, { capture: true });
      window.removeEventListener('resize', onScroll);
    };
  }, [box, arrangement]);
  return { arrangement, range, isMeasured: width > 0 };
}
