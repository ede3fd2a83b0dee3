/** Pages before sign-in, except the sign-in page itself, which is in the first chunk. */
export { ForgotPasswordPage } from '../pages/accounts/forgot-password-page.tsx';
export { LegalPage } from '../pages/accounts/legal-page.tsx';
export { NewPasswordPage } from '../pages/accounts/new-password-page.tsx';
export { SignUpPage } from '../pages/accounts/sign-up-page.tsx';
export { OAuthPage, TelegramBindPage, TelegramLoginPage } from '../pages/oauth/oauth-page.tsx';
export { SetupPage } from '../pages/setup/setup-page.tsx';
