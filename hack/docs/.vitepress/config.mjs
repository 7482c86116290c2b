import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { foldersWithoutPages, linkFrom, pageOf, pages, repository, rewrites, root, sidebar } from './pages.mjs'

// Pages are outside of this folder, which has Vue.
const vueOfThisFolder = {
  name: 'vue-of-this-folder',
  enforce: 'pre',
  resolveId: {
    filter: { id: /^vue(\/|$)/ },
    handler(id, importer) {
      return importer?.endsWith('.md') ? this.resolve(id, fileURLToPath(import.meta.url), { skipSelf: true }) : null
    },
  },
}

const logo = 'data:image/svg+xml;base64,' + readFileSync(join(root, 'internal/server/pages/static/favicon.svg')).toString('base64')

export default defineConfig({
  title: 'Postflight',
  description: 'Tests your deployments: a Kubernetes operator for platform teams',
  head: [['link', { rel: 'icon', href: logo }]],
  // GitHub Pages serves the site of a repository below its name.
  base: process.env.DOCS_BASE ?? '/',
  srcDir: root,
  outDir: '../../dist/docs',
  cacheDir: './node_modules/.cache',
  srcExclude: foldersWithoutPages,
  rewrites,
  cleanUrls: true,
  lastUpdated: false,
  vite: {
    plugins: [vueOfThisFolder],
    build: { chunkSizeWarningLimit: 2000 }, // kB; Mermaid is large, and loaded by pages with a diagram only
  },
  markdown: { anchor: { slugify: slugOfGitHub }, config: (md) => md.use(linksOfTheRepository).use(diagrams) },
  themeConfig: {
    logo,
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    nav: [
      { text: 'First team', link: '/docs/first-team' },
      { text: 'Install', link: '/docs/install' },
      { text: 'Pages', link: '/docs/' },
      { text: 'Changes', link: '/CHANGELOG' },
    ],
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: `${repository}/edit/main/:path`, text: 'Edit this page' },
    footer: { message: 'Apache-2.0' },
  },
})

// slugOfGitHub is the anchor of a heading in the repository, which links use.
function slugOfGitHub(heading) {
  return heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')
}

function linksOfTheRepository(md) {
  md.core.ruler.push('links-of-the-repository', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type === 'link_open') token.attrSet('href', linkFrom(pageOf(env.realPath ?? env.path), token.attrGet('href')))
    }
  })
}

// diagrams turns a block of Mermaid into the component of theme/Diagram.vue.
function diagrams(md) {
  const fence = md.renderer.rules.fence
  md.renderer.rules.fence = (tokens, i, ...rest) => tokens[i].info.trim() === 'mermaid'
    ? `<Diagram source="${encodeURIComponent(tokens[i].content)}"/>`
    : fence(tokens, i, ...rest)
}
