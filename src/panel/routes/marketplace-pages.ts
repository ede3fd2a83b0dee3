/** The marketplace, which root opens rarely. */
export { MarketplacePage } from '../pages/marketplace/marketplace-page.tsx';
export { MarketplacePluginPage } from '../pages/marketplace/marketplace-plugin-page.tsx';
