using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Policies.Paths;

namespace Tunnel2.Client.Tests.Configuration;

public sealed class RouteMapTests
{
    private static readonly ServiceRoute[] _routes =
    [
        Route("/api", 1),
        Route("/api/v2", 2),
        Route("/docs", 3) with { StripsPrefix = true },
    ];

    [Theory]
    [InlineData("/", RouteMap.None)]
    [InlineData("*", RouteMap.None)]
    [InlineData("/apis", RouteMap.None)]
    [InlineData("/API", RouteMap.None)]
    [InlineData("/x/api", RouteMap.None)]
    [InlineData("/?/api", RouteMap.None)]
    [InlineData("/api", 0)]
    [InlineData("/api/", 0)]
    [InlineData("/api?x=/api/v2", 0)]
    [InlineData("/api/v22", 0)]
    [InlineData("/api/v2", 1)]
    [InlineData("/api/v2/a%2Fb", 1)]
    [InlineData("/docs/a", 2)]
    [InlineData("/docs?x", 2)]
    public void The_longest_path_on_whole_segments_counts(string target, int route) => Assert.Equal(route, Find(target));

    [Theory]
    [InlineData("/%61pi", 0)]
    [InlineData("/%61pi/users", 0)]
    [InlineData("/api/./users", 0)]
    [InlineData("/api/x/../users", 0)]
    [InlineData("/api/a%20b", 0)]
    [InlineData("/files/a%2Fb;v=1", RouteMap.None)]
    public void Spellings_of_one_path_lead_to_one_service(string target, int route) => Assert.Equal(route, Find(target));

    [Theory]
    [InlineData("/x/../api")]
    [InlineData("/x/%2e%2e/api")]
    [InlineData("/api/../secret")]
    [InlineData("/api/..%2f..%2fsecret")]
    [InlineData("/api/%252e%252e/secret")]
    [InlineData("//api")]
    [InlineData("//host/api")]
    [InlineData("/api%3fx")]
    [InlineData("/./api")]
    [InlineData("/api;v=1/x")]
    [InlineData("/api%2Fv2")]
    [InlineData("/api\\v2")]
    [InlineData("/%2561pi")]
    [InlineData("/api%00")]
    [InlineData("/api.")]
    [InlineData("/api#/x")]
    [InlineData("http://other/api")]
    public void What_leads_to_different_services_leads_to_none(string target) => Assert.Equal(RouteMap.Unclear, Find(target));

    [Theory]
    [InlineData("/%64ocs/a")]
    [InlineData("/docs%2Fa")]
    public void A_prefix_that_is_taken_off_has_to_be_spelled_plainly(string target) => Assert.Equal(RouteMap.Unclear, Find(target));

    [Theory]
    [InlineData("/docs//host/admin")]
    [InlineData("/docs/%09/host/admin")]
    [InlineData("/docs/%2fhost/admin")]
    [InlineData("/docs/\\host/admin")]
    [InlineData("/docs/%255chost")]
    [InlineData("/docs//")]
    public void What_is_left_without_the_prefix_never_begins_with_a_host(string target) =>
        Assert.Equal(RouteMap.Unclear, Find(target));

    [Theory]
    [InlineData("/docs/a//b", 2)]
    [InlineData("/docs?//host/admin", 2)]
    [InlineData("/api//host/admin", 0)]
    public void Two_slashes_elsewhere_are_no_host(string target, int route) => Assert.Equal(route, Find(target));

    [Fact]
    public void A_path_that_is_too_long_leads_nowhere()
    {
        Assert.Equal(0, Find("/api/" + new string('a', RequestPath.MaxLength - 5)));
        Assert.Equal(RouteMap.Unclear, Find("/api/" + new string('a', RequestPath.MaxLength)));
        Assert.Equal(0, Find("/api?" + new string('a', RequestPath.MaxLength)));
    }

    [Fact]
    public void Any_two_spellings_that_a_service_may_take_for_one_path_never_lead_to_two()
    {
        // Each reading of a path, sent as a path of its own, leads where the path led, or nowhere.
        string[] parts = ["/", "//", "api", "v2", "docs", "..", ".", "%2e%2e", "%61pi", ";x", "%2F", "\\", "%5c", "a"];
        var random = new Random(7);
        var readings = new RequestPath();
        for (var run = 0; run < 20_000; run++)
        {
            var target = "/" + string.Concat(Enumerable.Range(0, random.Next(1, 7)).Select(_ => parts[random.Next(parts.Length)]));
            var found = Find(target);
            if (found == RouteMap.Unclear)
            {
                continue;
            }

            readings.Read(Encoding.ASCII.GetBytes(target));
            for (var i = 0; i < readings.Count; i++)
            {
                var plain = Encoding.ASCII.GetString(readings[i]);
                var expected = _routes.Select((route, index) => (route.Path, Index: index))
                    .Where(route => plain == route.Path || plain.StartsWith(route.Path + "/", StringComparison.Ordinal))
                    .OrderByDescending(route => route.Path.Length).Select(route => route.Index).DefaultIfEmpty(RouteMap.None).First();
                Assert.True(expected == found, $"{target} leads to {found}, its reading {plain} to {expected}");
            }
        }
    }

    private static int Find(string target) => new RouteMap(_routes).Find(Encoding.ASCII.GetBytes(target), new RequestPath());

    private static ServiceRoute Route(string path, int port) => new(path, new BackendTarget(false, "127.0.0.1", port));
}
