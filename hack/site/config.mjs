// SPDX-License-Identifier: Apache-2.0

// What VitePress makes of docs. hack/site.sh puts this directory there as .vitepress, in a copy in which the README of each
// directory is called index.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join, posix } from 'node:path'

const docs = fileURLToPath(new URL('..', import.meta.url))
const repository = 'https://github.com/cooper-cosi/cooper/blob/main/'

// Every page is in the sidebar, by its title.
function pages(title, directory) {
  const files = readdirSync(join(docs, directory)).filter((file) => file.endsWith('.md'))
  const items = files.map((file) => ({
    text: readFileSync(join(docs, directory, file), 'utf8').match(/^# (.*)$/m)[1].replaceAll('`', ''),
    link: `/${directory}/${file.replace(/(index)?\.md$/, '')}`,
  }))
  return { text: title, collapsed: true, items: items.sort((a, b) => (a.link < b.link ? -1 : 1)) }
}

// The pages are written for readers of the repository: what a link leads to that is no page is there.
function links(state) {
  const resolve = (path) => posix.join('docs', posix.dirname(state.env.relativePath), path)
  for (const token of state.tokens.flatMap((block) => block.children ?? [])) {
    const href = token.type === 'link_open' ? token.attrGet('href') : ''
    if (!href || href.startsWith('#') || URL.canParse(href)) continue
    const page = href.replace('README', 'index')
    const file = resolve(page.split('#')[0])
    const isPage = file.startsWith('docs/') && file.endsWith('.md') && existsSync(join(docs, '..', file))
    token.attrSet('href', isPage ? page : repository + resolve(href))
  }
}

export default {
  title: 'Cooper',
  description: 'Buckets and credentials for Kubernetes, by COSI v1alpha2',
  markdown: {
    // As GitHub names the anchor of a heading.
    anchor: { slugify: (text) => text.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-') },
    config(md) {
      md.core.ruler.push('links', links)
      // Vue must not evaluate {{ }} in code.
      const code = md.renderer.rules.code_inline
      md.renderer.rules.code_inline = (tokens, at, ...rest) => {
        tokens[at].attrSet('v-pre', '')
        return code(tokens, at, ...rest)
      }
      const fence = md.renderer.rules.fence
      md.renderer.rules.fence = (tokens, at, ...rest) =>
        tokens[at].info === 'mermaid' ? `<pre class="mermaid" v-pre>${md.utils.escapeHtml(tokens[at].content)}</pre>` : fence(tokens, at, ...rest)
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      pages('Tutorials', 'tutorial'),
      pages('How to', 'howto'),
      pages('Explanation', 'explanation'),
      pages('Reference', 'reference'),
      pages('Decisions', 'adr'),
      { text: 'Glossary', link: '/glossary' },
    ],
    socialLinks: [{ icon: 'github', link: 'https://github.com/cooper-cosi/cooper' }],
  },
}
