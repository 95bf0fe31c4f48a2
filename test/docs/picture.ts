// A terminal's text as an SVG picture, for the README: ANSI text on standard input, the picture on standard output. The arguments are its title and how many columns
// the terminal has (80). CONTRIBUTING.md says how it is taken.
const cellWidth = 8.4;
const lineHeight = 18;
const padding = 16;
const barHeight = 30;
const background = "#16181d";
const foreground = "#d5d8de";
/** Colours 30 to 37 of a terminal, and 90 to 97. */
const palette = ["#3b4048", "#f07178", "#a5d38a", "#e6c07b", "#7aa8f5", "#d291e4", "#6cc7d0", "#d5d8de"];
const bright = ["#7f8794", "#ff8b92", "#bfe8a6", "#f7d798", "#9cc0ff", "#e4aef2", "#8fe0e8", "#ffffff"];

type Style = { colour: string; behind: string; bold: boolean; dim: boolean };
type Span = Style & { text: string; column: number };

const plain = (): Style => ({ colour: foreground, behind: background, bold: false, dim: false });

/** Colour `n` of the 256. */
function indexed(n: number): string {
  if (n < 16) return (n < 8 ? palette[n] : bright[n - 8]) ?? foreground;
  const step = (of: number) => (of ? 55 + 40 * of : 0);
  const at = n - 16;
  const grey = 8 + 10 * (n - 232);
  const parts = n > 231 ? [grey, grey, grey] : [step(Math.floor(at / 36)), step(Math.floor(at / 6) % 6), step(at % 6)];
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** The style after a code of an escape; what belongs to it is taken from `more`. */
function apply(style: Style, code: number, more: number[]): Style {
  if (code === 0) return plain();
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 7) return { ...style, colour: style.behind, behind: style.colour };
  if (code === 22) return { ...style, bold: false, dim: false };
  if (code === 39) return { ...style, colour: foreground };
  if (code === 49) return { ...style, behind: background };
  if (code === 38 || code === 48) return { ...style, [code === 38 ? "colour" : "behind"]: indexed(more.splice(0, 2)[1] ?? 0) };
  const colour = code % 10 < 8 ? (code < 90 ? palette : bright)[code % 10] : undefined;
  if (colour && /^(?:3|9)\d$/.test(`${code}`)) return { ...style, colour };
  return colour && /^(?:4|10)\d$/.test(`${code}`) ? { ...style, behind: colour } : style;
}

/** One line as spans of one style each. The style goes on from line to line, as in a terminal. */
function spansOf(line: string, state: { style: Style }): Span[] {
  const spans: Span[] = [];
  let column = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escapes of a terminal are what this reads
  for (const [, codes, text] of line.matchAll(/\x1b\[([\d;]*)m|([^\x1b]+)/g)) {
    if (text === undefined) {
      const left = (codes || "0").split(";").map(Number);
      for (let code = left.shift(); code !== undefined; code = left.shift()) state.style = apply(state.style, code, left);
    } else {
      if (state.style.behind !== background) spans.push({ ...state.style, text: " ".repeat([...text].length), column });
      // Words alone, each at its column: what drawers of SVG make of several spaces differs.
      for (const word of text.matchAll(/\S+(?: \S+)*/g)) {
        const at = column + [...text.slice(0, word.index)].length;
        spans.push({ ...state.style, text: word[0], column: at });
      }
      column += [...text].length;
    }
  }
  return spans;
}

const escapeXml = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** `textLength` keeps the columns in line whatever font the reader has. A span of spaces is what stands behind others. */
function spanXml(span: Span, y: number): string {
  const width = [...span.text].length * cellWidth;
  const left = (padding + span.column * cellWidth).toFixed(1);
  if (!span.text.trim())
    return `<rect x="${left}" y="${y - 13}" width="${width.toFixed(1)}" height="${lineHeight}" fill="${span.behind}"/>`;
  const weight = span.bold ? ' font-weight="700"' : "";
  const opacity = span.dim ? ' opacity="0.6"' : "";
  const place = `x="${left}" y="${y}" textLength="${width.toFixed(1)}"`;
  return `<text ${place} lengthAdjust="spacingAndGlyphs" fill="${span.colour}"${weight}${opacity}>${escapeXml(span.text)}</text>`;
}

function picture(ansi: string, title: string, columns: number): string {
  const lines = ansi.replace(/^\n+|\s+$/g, "").split("\n");
  const state = { style: plain() };
  const width = Math.ceil(padding * 2 + columns * cellWidth);
  const height = barHeight + padding * 2 + lines.length * lineHeight;
  const rows = lines.flatMap((line, at) => spansOf(line, state).map((span) => spanXml(span, barHeight + padding + 13 + at * lineHeight)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeXml(title)}"`,
    ` font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14">`,
    `<rect width="${width}" height="${height}" rx="8" fill="${background}"/>`,
    ...["#f07178", "#e6c07b", "#a5d38a"].map(
      (fill, at) => `<circle cx="${padding + 6 + at * 18}" cy="${barHeight / 2 + 2}" r="5.5" fill="${fill}"/>`,
    ),
    `<text x="${width / 2}" y="${barHeight / 2 + 7}" text-anchor="middle" fill="${foreground}" opacity="0.6">${escapeXml(title)}</text>`,
    ...rows,
    "</svg>",
    "",
  ].join("\n");
}

if (import.meta.main) process.stdout.write(picture(await Bun.stdin.text(), process.argv[2] ?? "renn", Number(process.argv[3] ?? 80)));
