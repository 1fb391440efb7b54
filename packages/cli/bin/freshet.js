#!/usr/bin/env node
/** In the repository, so that `npm ci` in a clone links it as `npx freshet`: npm links commands before the build. */
import '../dist/freshet.js'
