using System.Runtime.CompilerServices;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Harness;

internal static class TestProcess
{
    [ModuleInitializer]
    internal static void Begin() => OwnStateFolder.Use();
}
