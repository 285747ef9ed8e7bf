using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Opening;
using Tunnel2.ProxyEntry.Routing;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.TestUtilities;

namespace Tunnel2.Budgets.Tests.ProxyEntry;

/// <summary>Nothing between a request's Host and its session allocates.</summary>
public sealed class RoutingBudgetTests
{
    private static readonly HostAddressParser _hosts = new("tunnel.example.com", "e1");
    private static readonly PathAddressParser _paths = new("e1");

    [Fact]
    public void Parsing_a_host_allocates_nothing()
    {
        var name = new char[PublicName.MaxLength];
        string[] hosts = ["web.tunnel.example.com:12000", "WEB-E1.tunnel.example.com", "other.example.org", "bad host", "[::1]:80"];
        Run(100);

        var before = GC.GetAllocatedBytesForCurrentThread();
        Run(1000);
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);

        void Run(int times)
        {
            for (var i = 0; i < times; i++)
            {
                foreach (var host in hosts)
                {
                    _hosts.Parse(host, name, out _);
                }

                _hosts.Parse("web.tunnel.example.com"u8, name, out _);
            }
        }
    }

    [Fact]
    public void Parsing_a_path_allocates_nothing()
    {
        var name = new char[PublicName.MaxLength];
        Run(100);

        var before = GC.GetAllocatedBytesForCurrentThread();
        Run(1000);
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);

        void Run(int times)
        {
            for (var i = 0; i < times; i++)
            {
                _paths.Parse("/session/web/rest?x=1", name);
                _paths.Parse("/session/web/rest?x=1"u8, name);
                _paths.Parse("/other", name);
            }
        }
    }

    [Fact]
    public void Looking_up_a_name_allocates_nothing()
    {
        var settings = SettingsFixture.LoadValid();
        var time = new ManualTimeProvider();
        var directory = new InMemorySessionDirectory(time, TimeSpan.Zero);
        var resolver = new NameResolver(settings, new AgentRegistry(settings.Agents), directory, time);
        resolver.Resolve(new RequestAddress("nobody.localhost", "/"), out _, out _);
        var before = GC.GetAllocatedBytesForCurrentThread();
        for (var i = 0; i < 100; i++)
        {
            resolver.Resolve(new RequestAddress("nobody.localhost:8080", "/"), out _, out _);
        }

        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
    }
}
