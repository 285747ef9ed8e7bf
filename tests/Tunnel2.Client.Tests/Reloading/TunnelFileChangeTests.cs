using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Reloading;
using Tunnel2.Client.TunnelFiles;

namespace Tunnel2.Client.Tests.Reloading;

public sealed class TunnelFileChangeTests
{
    private const string Two = "server: a:1\ntunnels:\n- name: web\n  upstream: 3000\n- name: api\n  upstream: 3001\n";

    private static IReadOnlyList<LoadedTunnel> Load(string text)
    {
        TunnelFileLoad load = TunnelFileLoader.Load("f", text, new AgentOptionsInput(), static _ => null);
        Assert.Empty(load.Mistakes);
        return load.Tunnels;
    }

    private static string Describe(TunnelFileChange change) =>
        $"+{Names(change.Added)} ~{Names(change.Changed)} -{string.Join(',', change.Removed)}";

    private static string Names(IEnumerable<LoadedTunnel> tunnels) => string.Join(',', tunnels.Select(static one => one.Options.Name));

    [Theory]
    [InlineData("server: a:1\ntunnels:\n- name: web\n  upstream: 3000\n- name: api\n  upstream: 3001\n", "+ ~ -")]
    [InlineData("# other\nserver: a:1\ntunnels:\n- {name: api, upstream: 3001}\n- {name: web, upstream: 3000}\n", "+ ~ -")]
    [InlineData("server: a:1\ntunnels:\n- name: web\n  upstream: 3009\n- name: api\n  upstream: 3001\n", "+ ~web -")]
    [InlineData("server: a:1\ntunnels:\n- name: web\n  upstream: 3000\n- name: db\n  upstream: 3001\n", "+db ~ -api")]
    [InlineData("server: a:2\ntunnels:\n- name: web\n  upstream: 3000\n- name: api\n  upstream: 3001\n", "+ ~web,api -")]
    [InlineData("server: a:1\ntunnels:\n- name: web\n  upstream: 3000\n", "+ ~ -api")]
    [InlineData("server: a:1\nverbose: true\ntunnels:\n- name: web\n  upstream: 3000\n- name: api\n  upstream: 3001\n", "+ ~ -")]
    [InlineData("server: a:1\ntunnels:\n- name: web\n  upstream: 3000\n  token: t\n- name: api\n  upstream: 3001\n", "+ ~web -")]
    public void What_changed_is_found(string after, string change) =>
        Assert.Equal(change, Describe(TunnelFileChange.Between(Load(Two), Load(after))));

    [Fact]
    public void A_tunnel_that_stays_is_the_same_object_and_one_that_changes_keeps_its_key()
    {
        IReadOnlyList<LoadedTunnel> before = Load(Two);
        TunnelFileChange change = TunnelFileChange.Between(before, Load(Two.Replace("3001", "3002", StringComparison.Ordinal)));
        Assert.Same(before[0], change.Tunnels[0]);
        Assert.NotSame(before[1], change.Tunnels[1]);
        Assert.Equal(before[1].Options.InstanceKey.ToArray(), change.Changed.Single().Options.InstanceKey.ToArray());
        Assert.Equal("http://127.0.0.1:3002", change.Changed.Single().Options.Upstream.ToString());
    }

    [Fact]
    public void A_tunnel_without_a_name_keeps_the_random_one_that_it_has()
    {
        const string Unnamed = "tunnels:\n- upstream: 3000\n- upstream: 3000\n- upstream: 3001\n";
        IReadOnlyList<LoadedTunnel> before = Load(Unnamed);
        Assert.True(TunnelFileChange.Between(before, Load(Unnamed)).IsNothing);

        TunnelFileChange less = TunnelFileChange.Between(before, Load("tunnels:\n- upstream: 3001\n- upstream: 3000\n"));
        Assert.Equal($"+ ~ -{before[1].Options.Name}", Describe(less));

        TunnelFileChange named = TunnelFileChange.Between(
            before, Load($"tunnels:\n- upstream: 3000\n- upstream: 3000\n- upstream: 3001\n  name: {before[2].Options.Name}\n"));
        Assert.Equal($"+ ~{before[2].Options.Name} -", Describe(named));
    }

    [Fact]
    public void Settings_of_the_process_are_named_and_not_taken_for_those_of_a_tunnel()
    {
        LoadedTunnel before = Load(Two)[0];
        LoadedTunnel after = Load("loops: 2\njson: true\n" + Two)[0];
        Assert.True(before.IsSameAs(after));
        Assert.Equal(["json", "loops"], after.ProcessDifferences(before));
    }
}
