using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Processes;

/// <summary>Starts a program in a network of a test's own.</summary>
/// <param name="program">A path, or a name looked up in PATH.</param>
/// <param name="arguments">Its arguments.</param>
/// <param name="environment">Variables to add.</param>
internal delegate ProcessRunner StartInNetwork(
    string program, IEnumerable<string> arguments, IReadOnlyDictionary<string, string?>? environment = null);
