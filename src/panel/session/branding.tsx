import { useEffect } from 'react';
import { applyBranding } from '../theme/apply-branding.ts';
import { useGatewayStatus } from './use-gateway-status.ts';

/** Applies the operator's colour and icon once they are known, and whenever they change. */
export function BrandingEffect() {
  const { data } = useGatewayStatus();
  const accent = data?.accent ?? '';
  const logo = data?.logo ?? '';
  useEffect(() => applyBranding({ accent, logo }), [accent, logo]);
  return null;
}
