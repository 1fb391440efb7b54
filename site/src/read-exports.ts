/**
 * What a package exports, from its sources: names, signatures, doc comments. Reads them with the compiler, whose API for programs
 * is marked unstable and is used only here.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Node, SyntaxKind } from 'typescript/unstable/ast'
import {
  isClassDeclaration,
  isConstructorDeclaration,
  isExportSpecifier,
  isFunctionDeclaration,
  isGetAccessorDeclaration,
  isIdentifier,
  isInterfaceDeclaration,
  isMethodDeclaration,
  isMethodSignatureDeclaration,
  isPropertyDeclaration,
  isPropertySignatureDeclaration,
} from 'typescript/unstable/ast/is'
import { API, type Checker, type Project, type Symbol as TsSymbol } from 'typescript/unstable/sync'

/** One of the import paths of a package. */
export interface Door {
  /** `@freshet/client/entities` */
  readonly name: string
  readonly exports: readonly Exported[]
}

export interface Exported {
  readonly name: string
  readonly kind: 'function' | 'class' | 'interface' | 'type'
  /** Its doc comment, or nothing. */
  readonly about: string
  /** The code of each `@example` in its doc comment, without fences. */
  readonly examples: readonly string[]
  /** The call signature or declaration; for an overloaded function, each overload. */
  readonly signatures: readonly string[]
  readonly members: readonly Member[]
  /** The first type that it extends. */
  readonly base?: string
  /** The path of the source, from the folder of all packages: `client/src/connect.ts`. */
  readonly file: string
}

export interface Member {
  readonly name: string
  readonly kind: 'method' | 'property' | 'constructor'
  readonly about: string
  readonly examples: readonly string[]
  readonly signatures: readonly string[]
}

/** From the `exports` of its package.json. `packages`: the parent folder; `doors`: which of the exports; default all. */
export function readExports(packages: string, name: string, doors?: readonly string[]): readonly Door[] {
  const folder = join(packages, name)
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const api = new API({ cwd: folder })
  try {
    const config = join(folder, 'tsconfig.json')
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)
    if (project === undefined) throw new Error(`The compiler cannot open the project ${config}.`)
    const wanted = Object.entries(manifest.exports).filter(([door]) => doors?.includes(door) ?? true)
    return wanted.map(([door, { types }]) => {
      const source = join(folder, types.replace('dist/', 'src/').replace('.d.ts', '.ts'))
      return { name: manifest.name + door.slice(1), exports: exportsOf(project, source, packages) }
    })
  } finally {
    api.close()
  }
}

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, { readonly types: string }>>
}

function exportsOf({ program, checker }: Project, source: string, packages: string): readonly Exported[] {
  const file = existsSync(source) ? program.getSourceFile(source) : undefined
  const module = file && checker.getSymbolAtLocation(file)
  if (module === undefined) throw new Error(`${source} exports nothing.`)
  return checker.getExportsOfModule(module).map(exported => {
    const symbol = checker.getAliasedSymbol(exported)
    const declarations = symbol.declarations.map(handle => handle.resolve()!)
    const [first] = declarations
    if (first === undefined) throw new Error(`${source} exports ${exported.name}, which has no declaration.`)
    return {
      name: exported.name,
      about: checker.getDocumentationCommentOfSymbol(symbol),
      examples: examplesOf(symbol, checker),
      ...describe(declarations as [Node, ...Node[]], checker, isTypeAlone(exported)),
      file: symbol.declarations[0]!.path.slice(packages.length).replace(/^\//, ''),
    }
  })
}

function examplesOf(symbol: TsSymbol, checker: Checker): readonly string[] {
  const tags = checker.getJsDocTagsOfSymbol(symbol)
  return tags.flatMap(({ name, text = '' }) => (name === 'example' ? [text] : []))
}

/** `export type { X }`: other packages cannot construct it. */
function isTypeAlone(exported: TsSymbol): boolean {
  const specifier = exported.declarations[0]?.resolve()
  if (specifier === undefined || !isExportSpecifier(specifier)) return false
  return specifier.isTypeOnly || /^export\s+type\b/.test(specifier.parent.parent.getText())
}

type Description = Pick<Exported, 'kind' | 'signatures' | 'members' | 'base'>

function describe(declarations: readonly [Node, ...Node[]], checker: Checker, isType: boolean): Description {
  const [first] = declarations
  if (isFunctionDeclaration(first)) {
    const ways = withoutImplementation(declarations)
    return { kind: 'function', signatures: ways.map(way => callOf(way, 'function ')), members: [] }
  }
  if (isClassDeclaration(first) || isInterfaceDeclaration(first)) {
    const kind = isClassDeclaration(first) ? 'class' : 'interface'
    const heritage = (first.heritageClauses ?? []).map(clause => ` ${clause.getText()}`)
    const signature = `${kind} ${first.name!.getText()}${typeParametersOf(first)}${heritage.join('')}`
    const base = first.heritageClauses?.[0]?.types[0]?.expression.getText()
    const members = membersOf(first.members, checker, isType)
    return { kind, signatures: [signature], members, ...(base === undefined ? {} : { base }) }
  }
  return { kind: 'type', signatures: [first.getText().replace(/^export /, '')], members: [] }
}

const HIDDEN: readonly SyntaxKind[] = [SyntaxKind.PrivateKeyword, SyntaxKind.ProtectedKeyword]

/** In source order, with overloads of a name together. */
function membersOf(members: readonly Node[], checker: Checker, isType: boolean): readonly Member[] {
  const byName = new Map<string, Node[]>()
  for (const member of members) {
    const { name, modifiers } = member as { name?: Node; modifiers?: readonly Node[] }
    const isHidden = name?.getText().startsWith('#') || modifiers?.some(({ kind }) => HIDDEN.includes(kind))
    if (isHidden || (isConstructorDeclaration(member) && isType)) continue
    const key = name?.getText() ?? 'new'
    byName.set(key, [...(byName.get(key) ?? []), member])
  }
  return [...byName].flatMap(([name, nodes]) => {
    const symbol = checker.getSymbolAtLocation((nodes[0] as { name?: Node }).name ?? nodes[0]!)
    if (symbol && checker.getJsDocTagsOfSymbol(symbol).some(tag => tag.name === 'internal')) return []
    const signatures = withoutImplementation(nodes).map(memberText)
    const kind = kindOf(nodes[0]!)
    if (symbol === undefined) return [{ name, kind, about: '', examples: [], signatures }]
    const about = checker.getDocumentationCommentOfSymbol(symbol)
    return [{ name, kind, about, examples: examplesOf(symbol, checker), signatures }]
  })
}

function kindOf(member: Node): Member['kind'] {
  if (isConstructorDeclaration(member)) return 'constructor'
  return isMethodDeclaration(member) || isMethodSignatureDeclaration(member) ? 'method' : 'property'
}

/** The last declaration of an overloaded function is its implementation, which callers do not see. */
function withoutImplementation(nodes: readonly Node[]): readonly Node[] {
  const isWay = (node: Node) => (node as { body?: Node }).body === undefined
  return nodes.length > 1 && nodes.some(isWay) ? nodes.filter(isWay) : nodes
}

function memberText(member: Node): string {
  const words = (member as { modifiers?: readonly Node[] }).modifiers?.map(({ kind }) => kind) ?? []
  const before = words.includes(SyntaxKind.StaticKeyword) ? 'static ' : ''
  if (isConstructorDeclaration(member)) return callOf(member, 'new ')
  if (isMethodDeclaration(member) || isMethodSignatureDeclaration(member)) return callOf(member, before)
  if (isGetAccessorDeclaration(member)) return `readonly ${member.name.getText()}: ${textOf(member.type!)}`
  if (isPropertyDeclaration(member) || isPropertySignatureDeclaration(member)) {
    // Almost every member of an interface is readonly, so the word would say little there.
    const isShown = isPropertyDeclaration(member) && words.includes(SyntaxKind.ReadonlyKeyword)
    const readonly = isShown ? 'readonly ' : ''
    const mark = member.postfixToken?.kind === SyntaxKind.QuestionToken ? '?' : ''
    return `${before}${readonly}${member.name.getText()}${mark}: ${member.type ? textOf(member.type) : 'unknown'}`
  }
  return textOf(member)
}

interface Callable {
  readonly name?: Node
  readonly parameters: readonly Node[]
  readonly type?: Node
}

function callOf(node: Node, before: string): string {
  const { name, parameters, type } = node as unknown as Callable
  const named = name?.getText() ?? (node.parent as { name?: Node }).name?.getText() ?? ''
  const result = type === undefined ? '' : `: ${textOf(type)}`
  return `${before}${named}${typeParametersOf(node)}(${parameters.map(parameterText).join(', ')})${result}`
}

/** As callers see it: a destructured or default parameter appears as an option with a type. */
function parameterText(parameter: Node): string {
  const { name, type, initializer, questionToken, dotDotDotToken } = parameter as unknown as {
    readonly name: Node
    readonly type?: Node
    readonly initializer?: Node
    readonly questionToken?: Node
    readonly dotDotDotToken?: Node
  }
  if (type === undefined) return textOf(parameter)
  const shown = isIdentifier(name) ? name.getText() : 'options'
  return `${dotDotDotToken ? '...' : ''}${shown}${initializer || questionToken ? '?' : ''}: ${textOf(type)}`
}

function typeParametersOf(node: Node): string {
  const { typeParameters } = node as { typeParameters?: readonly Node[] }
  return typeParameters === undefined ? '' : `<${typeParameters.map(textOf).join(', ')}>`
}

/** On one line, unless comments stand between the lines. */
function textOf(node: Node): string {
  const text = node.getText()
  return /\/[/*]/.test(text) ? text : text.replaceAll(/\s+/g, ' ')
}
