// Text files that are part of the binary.
declare module "*.sql" {
  const text: string;
  export default text;
}
