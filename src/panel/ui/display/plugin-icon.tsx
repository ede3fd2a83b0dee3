import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useSession } from '../../session/session-context.tsx';
import classes from './plugin-icon.module.css';
import { chooseMark } from './plugin-mark.ts';

type PluginIconProps = {
  name: string;
  /** The manifest's `icon`: a name of the icon library, `text` or `text:AB`. */
  icon?: string | null | undefined;
  /** API path of the picture, fetched with the session's token. */
  path?: string | undefined;
  size?: number;
};

const tints = 6;

/** A plugin's picture, the vendor's logo, or initials. Decorative: the name is shown beside it. */
export function PluginIcon({ name, icon, path, size = 36 }: PluginIconProps) {
  const address = usePicture(path);
  const box = { width: size, height: size, fontSize: Math.round(size * 0.38) };
  if (address !== null) return <img src={address} alt="" className={classes.picture} style={box} />;
  const mark = chooseMark(name, icon);
  if ('picture' in mark) return <img src={mark.picture} alt="" className={classes.mark} style={box} />;
  const tint = [...name].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % tints;
  return (
    <span className={classes.initials} data-tint={tint} style={box} aria-hidden="true">
      {mark.initials}
    </span>
  );
}

/**
 * Fetches a picture with the access token; returns an object URL that lives as long as the
 * component.
 */
function usePicture(path: string | undefined): string | null {
  const session = useSession();
  const [address, setAddress] = useState<string | null>(null);
  const { data } = useQuery({
    queryKey: ['picture', path],
    queryFn: () => session.send<Blob>({ method: 'GET', path: path ?? '', as: 'blob' }),
    enabled: path !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  useEffect(() => {
    if (data === undefined) return;
    const objectUrl = URL.createObjectURL(data);
    setAddress(objectUrl);
    return () => {
      URL.revokeObjectURL(objectUrl);
      setAddress(null);
    };
  }, [data]);
  return address;
}
