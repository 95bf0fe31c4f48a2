// The tag that begins each message in a session, as it is found again. Apart from text.ts, whose patterns cost more than all else that a hook loads.

/** Message ids whose tag stands at the start of a line of `text`, followed by something that is no digit. */
export function tagIds(text: string): number[] {
  const ids: number[] = [];
  for (const match of text.matchAll(/^\[murmur m(\d{1,16})(?!\d)/gm)) ids.push(Number(match[1]));
  return ids;
}
