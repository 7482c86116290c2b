// The pages of the site, and where their links lead. The tree of files is that of the repository, so that links work in both.
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, posix, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..')
export const repository = 'https://github.com/postflight-dev/postflight'

const navigation = JSON.parse(readFileSync(join(root, 'hack/docs/navigation.json'), 'utf8'))

// A page is named, or one of a folder: docs/operations/**.
const inFolder = (folder) => readdirSync(join(root, folder), { recursive: true }).filter((name) => name.endsWith('.md')).sort()
  .map((name) => posix.join(folder, name))
const groups = navigation.map(({ text, pages }) => ({
  text,
  pages: pages.flatMap((entry) => entry.endsWith('/**') ? inFolder(entry.slice(0, -3)) : [entry]),
}))

export const pages = ['README.md', ...groups.flatMap((group) => group.pages)]

// The others have pages too, but for those who read the repository.
export const foldersWithoutPages = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !pages.some((page) => page.startsWith(entry.name + '/')))
  .map((entry) => entry.name + '/**')

// A title without what follows its colon, or it would take three lines.
const title = (page) => /^# +(.+?)(: .*)?$/m.exec(readFileSync(join(root, page), 'utf8'))[1].replaceAll('`', '')
export const address = (page) => '/' + page.replace(/(^|\/)README\.md$/, '$1').replace(/\.md$/, '')

export const sidebar = groups.map(({ text, pages }, i) => ({
  text,
  collapsed: i > 1,
  items: pages.map((page) => ({ text: title(page), link: address(page) })),
}))

// VitePress serves README.md of a folder as its index.
export const rewrites = Object.fromEntries(pages.filter((page) => page.endsWith('README.md'))
  .map((page) => [page, page.replace(/README\.md$/, 'index.md')]))

// linkFrom leads to another page of the site, and to the repository for everything else in it.
export function linkFrom(page, href) {
  const [path, anchor] = href.split('#')
  if (!path || /^[a-z]+:/.test(path)) return href
  const target = posix.normalize(posix.join(posix.dirname(page), path)).replace(/\/$/, '')
  const hash = anchor === undefined ? '' : '#' + anchor
  if (pages.includes(target)) return address(target) + hash
  if (pages.includes(target + '/README.md')) return address(target + '/README.md') + hash
  if (!existsSync(join(root, target))) throw new Error(`${page} links to ${href}, which does not exist`)
  return `${repository}/${statSync(join(root, target)).isDirectory() ? 'tree' : 'blob'}/main/${target}${hash}`
}

export const pageOf = (file) => relative(root, file)
