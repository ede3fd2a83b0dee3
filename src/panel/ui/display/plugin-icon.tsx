import alibaba from '@lobehub/icons-static-svg/icons/alibaba-color.svg';
import alibabacloud from '@lobehub/icons-static-svg/icons/alibabacloud-color.svg';
import bytedance from '@lobehub/icons-static-svg/icons/bytedance-color.svg';
import doubao from '@lobehub/icons-static-svg/icons/doubao-color.svg';
import elevenlabs from '@lobehub/icons-static-svg/icons/elevenlabs.svg';
import flux from '@lobehub/icons-static-svg/icons/flux.svg';
import gemini from '@lobehub/icons-static-svg/icons/gemini-color.svg';
import google from '@lobehub/icons-static-svg/icons/google-color.svg';
import hailuo from '@lobehub/icons-static-svg/icons/hailuo-color.svg';
import jimeng from '@lobehub/icons-static-svg/icons/jimeng-color.svg';
import kling from '@lobehub/icons-static-svg/icons/kling-color.svg';
import luma from '@lobehub/icons-static-svg/icons/luma-color.svg';
import minimax from '@lobehub/icons-static-svg/icons/minimax-color.svg';
import openai from '@lobehub/icons-static-svg/icons/openai.svg';
import pixverse from '@lobehub/icons-static-svg/icons/pixverse-color.svg';
import qwen from '@lobehub/icons-static-svg/icons/qwen-color.svg';
import runway from '@lobehub/icons-static-svg/icons/runway.svg';
import sora from '@lobehub/icons-static-svg/icons/sora-color.svg';
import suno from '@lobehub/icons-static-svg/icons/suno.svg';
import vertexai from '@lobehub/icons-static-svg/icons/vertexai-color.svg';
import vidu from '@lobehub/icons-static-svg/icons/vidu-color.svg';
import volcengine from '@lobehub/icons-static-svg/icons/volcengine-color.svg';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useSession } from '../../session/session-context.tsx';
import classes from './plugin-icon.module.css';

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

/** URLs of the bundled pictures, by lower-case library name. */
const pictures = new Map(
  Object.entries({
    alibaba,
    alibabacloud,
    bytedance,
    doubao,
    elevenlabs,
    flux,
    gemini,
    google,
    hailuo,
    jimeng,
    kling,
    luma,
    minimax,
    openai,
    pixverse,
    qwen,
    runway,
    sora,
    suno,
    vertexai,
    vidu,
    volcengine,
  }),
);

const TEXT = /^text(?::(.*))?$/s;

/** Shown for a plugin without a picture of its own. */
type PluginMark = { picture: string } | { initials: string };

/**
 * The mark for the manifest's `icon`: the picture of a library name such as `Kling` or
 * `Kling.Color`, else the initials of `text:AB`, else the first two characters of the name. A
 * library name that is not bundled gives initials too.
 */
export function chooseMark(name: string, icon: string | null | undefined): PluginMark {
  const wanted = icon?.trim() ?? '';
  const picture = pictures.get(wanted.split('.', 1)[0]?.toLowerCase() ?? '');
  if (picture !== undefined) return { picture };
  const label = TEXT.exec(wanted)?.[1]?.trim() ?? '';
  return { initials: label === '' ? [...name].slice(0, 2).join('') : [...label].slice(0, 3).join('') };
}
