# The shipped build, by node-gyp. CMakeLists.txt is the developer build from the same lists.
{
  'targets': [
    {
      'target_name': 'sallyport',
      'sources': ['<!@(cat native/sources.txt)'],
      'include_dirs': [
        'native',
        '<!(node -p "require(\'node-addon-api\').include_dir")',
      ],
      'defines': [
        'NAPI_VERSION=8',
        'NAPI_DISABLE_CPP_EXCEPTIONS',
        # A Worker that is being terminated refuses calls; that must not end the process.
        'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS',
        '_GNU_SOURCE',
      ],
      'cflags': ['-O2', '-fvisibility=hidden', '-Wall', '-Wextra', '-pthread'],
      'cflags!': ['-O3'],
      # Node's own flags say gnu++17 or later, and newer Nodes need later: keep whichever they say.
      'cflags_cc': ['-fvisibility-inlines-hidden'],
      # Node unloads the addon with the last environment that loaded it; its threads stay.
      'ldflags': ['-pthread', '-Wl,-z,nodelete'],
      # dlsym: in a library of its own before glibc 2.34.
      'libraries': ['-ldl'],
    },
    {
      # Freestanding: no C library is linked and none is needed at run time.
      'target_name': 'sallyport-launcher',
      'type': 'executable',
      'sources': ['<!@(cat native/launcher_sources.txt)'],
      'cflags!': ['-O3', '-pthread', '-fPIC', '-fno-omit-frame-pointer'],
      'cflags': [
        '-std=c11', '-O2', '-Wall', '-Wextra', '-ffreestanding', '-fno-stack-protector',
        '-fno-asynchronous-unwind-tables', '-fno-pie',
      ],
      'ldflags!': ['-pthread', '-rdynamic'],
      'ldflags': [
        '-nostdlib', '-static', '-no-pie', '-Wl,-z,noexecstack', '-Wl,--build-id=none',
      ],
    },
    {
      # What a child can reach is found out by this one, likewise freestanding.
      'target_name': 'sallyport-probe',
      'type': 'executable',
      'sources': ['<!@(cat native/probe_sources.txt)'],
      'cflags!': ['-O3', '-pthread', '-fPIC', '-fno-omit-frame-pointer'],
      'cflags': [
        '-std=c11', '-O2', '-Wall', '-Wextra', '-ffreestanding', '-fno-stack-protector',
        '-fno-asynchronous-unwind-tables', '-fno-pie',
      ],
      'ldflags!': ['-pthread', '-rdynamic'],
      'ldflags': [
        '-nostdlib', '-static', '-no-pie', '-Wl,-z,noexecstack', '-Wl,--build-id=none',
      ],
    },
  ],
}
