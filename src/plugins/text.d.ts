// The plugins as clis/plugins.ts imports them: as texts.
declare module "*/plugins/link.js" {
  const text: string;
  export default text;
}
declare module "*/plugins/opencode.js" {
  const text: string;
  export default text;
}
declare module "*/plugins/hummin.js" {
  const text: string;
  export default text;
}
