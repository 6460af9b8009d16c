/** Markdown of a stranger as elements that do nothing: no script, no style, no picture, nothing that is fetched. */
import DOMPurify from "dompurify";
import { Marked } from "marked";

/** HTML in a message is shown as what it is, text; so is a picture, which would be fetched from somewhere. */
const marked = new Marked({
  gfm: true,
  async: false,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ raw }) => escaped(raw),
  },
});
const ALLOWED = {
  ALLOWED_TAGS: [
    ...["p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em"],
    ...["strong", "del", "a", "table", "thead", "tbody", "tr", "th", "td"],
  ],
  ALLOWED_ATTR: ["href", "title", "start"],
  ALLOWED_URI_REGEXP: /^https?:/i,
  RETURN_DOM_FRAGMENT: true as const,
};

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

export function fragmentOf(text: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(marked.parse(text) as string, ALLOWED);
  for (const link of fragment.querySelectorAll("a")) {
    if (!link.hasAttribute("href")) {
      link.replaceWith(...link.childNodes); // it led to a script, or to nothing of the web
      continue;
    }
    link.rel = "noopener noreferrer nofollow";
    link.target = "_blank";
    link.title = link.getAttribute("href") ?? "";
  }
  for (const wide of fragment.querySelectorAll("pre, table")) wide.setAttribute("tabindex", "0"); // it scrolls by keys
  // a heading of a message is none of the page
  for (const heading of fragment.querySelectorAll("h1,h2,h3,h4,h5,h6")) {
    const plain = document.createElement("p");
    const strong = document.createElement("strong");
    strong.append(...heading.childNodes);
    plain.append(strong);
    heading.replaceWith(plain);
  }
  return fragment;
}
