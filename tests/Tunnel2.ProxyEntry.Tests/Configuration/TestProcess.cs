using System.Runtime.CompilerServices;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Configuration;

internal static class TestProcess
{
    [ModuleInitializer]
    internal static void Begin() => OwnStateFolder.Use();
}
