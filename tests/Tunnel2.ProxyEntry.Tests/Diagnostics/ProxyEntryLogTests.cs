using System.Reflection;
using Microsoft.Extensions.Logging;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.ProxyEntry.Tracing;

namespace Tunnel2.ProxyEntry.Tests.Diagnostics;

public sealed class ProxyEntryLogTests
{
    [Fact]
    public void Event_ids_of_the_assemblies_are_unique_and_those_here_in_their_range()
    {
        var own = GetEvents(typeof(ProxyEntryLog));
        Type[] assemblies =
        [
            typeof(ProxyEntrySettings), typeof(ProxyEntryLog), typeof(Http1Front), typeof(RequestTracer), typeof(ProxyEntryHost),
        ];
        var all = assemblies.SelectMany(static type => type.Assembly.GetTypes()).SelectMany(GetEvents).ToArray();

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
