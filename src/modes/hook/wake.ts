// `renn hook claude wake`: placeholder until the waiter is written.
export async function wake(_client: string): Promise<void> {
  process.exit(0);
}
