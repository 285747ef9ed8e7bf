using System.Reflection;
using Microsoft.Extensions.Logging;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Tests.Diagnostics;

public sealed class ProxyEntryLogTests
{
    [Fact]
    public void Event_ids_of_the_assembly_are_unique_and_those_here_in_their_range()
    {
        var own = GetEvents(typeof(ProxyEntryLog));
        var all = typeof(ProxyEntryLog).Assembly.GetTypes().SelectMany(GetEvents).ToArray();

        Assert.NotEmpty(own);
        Assert.All(own, id => Assert.InRange(id, 2000, 2299));
        Assert.Equal(all.Length, all.Distinct().Count());
    }

    private static int[] GetEvents(Type type) =>
    [
        .. type.GetMethods(
            BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly)
            .Select(method => method.GetCustomAttribute<LoggerMessageAttribute>())
            .OfType<LoggerMessageAttribute>()
            .Select(attribute => attribute.EventId),
    ];
}
